# frozen_string_literal: true

require_relative "support/powerband"

# `powerband calc`: pages, documents, what is refused, and with which exit code.
class CalcTest < PowerbandTest
  parallelize_me!

  SAMPLES = File.join(ROOT, "contract/samples/calc")
  WORDS = {
    "amdahl" => %w[amdahl --parallel 0.37],
    "threads" => %w[threads --held 20ms --io 30ms --cores 2 --processes 2 --lock 5ms],
    "queue" => %w[queue --rate 150 --service 20ms --servers 4 --scv 2 --objective p99=250ms],
    "usl" => %w[usl --measured 1=100,2=192,4=338,8=580,16=815,32=961,48=925],
    "pool" => %w[pool --web-processes 4 --web-threads 5 --job-processes 2 --job-threads 10 --async-executor 4
                 --max-connections 150 --pool 5 --rate 200 --transaction 12ms]
  }.freeze

  WORDS.each do |name, words|
    define_method("test_the_samples_are_what_#{name}_prints") do
      ended = powerband("calc", *words, "--json")
      assert_equal 0, ended.code, ended.to_s
      path = File.join(SAMPLES, "#{name}.json")
      File.write(path, ended.out) if ENV["POWERBAND_BLESS"]
      assert_valid_document(ended.out, "calc-v1")
      assert_same_figures JSON.parse(File.read(path)), JSON.parse(ended.out)
      parts = JSON.parse(ended.out).slice(*WORDS.keys).compact.keys
      assert_equal [name], parts
    end

    define_method("test_#{name}_says_what_it_means_before_the_table") do
      ended = powerband("calc", *words)
      assert_equal 0, ended.code, ended.to_s
      assert_empty ended.err
      said = JSON.parse(File.read(File.join(SAMPLES, "#{name}.json")))["sentence"]
      assert_equal said, ended.out.split("\n\n").first.split("\n").join(" ")[0, said.size]
      assert_match(/What this takes for granted/, ended.out)
    end
  end

  # Published: 1.619, more than the limit of 1.587; and 4 threads by the table's own rule.
  def test_amdahl_without_the_slips_that_people_copy
    ended = powerband("calc", "amdahl", "--io-share", "37%")
    assert_match(/^ +8 +1\.479 /, ended.out)
    assert_match(/^ +3 +1\.327 +4\.3 % .*enough/, ended.out)
    assert_match(/^ +∞ +1\.587$/, ended.out)
    assert_match(/^ +16 +1\.730 /, powerband("calc", "amdahl", "--parallel", "0.45", "--up-to", "16").out)
  end

  def test_more_arrives_than_the_servers_can_do
    ended = powerband("calc", "queue", "--rate", "200", "--service", "20ms", "--servers", "4")
    assert_refused ended, 2, /busy 100 % of the time/, /give a rate under 200/
    ended = powerband("calc", "queue", "--rate", "900", "--service", "20ms", "--servers", "4", "--objective", "p99=1s")
    assert_refused ended, 2, /busy 450 % of the time/
  end

  def test_an_objective_that_is_not_met_is_an_answer
    ended = powerband("calc", "queue", "--rate", "45", "--service", "20ms", "--objective", "p99=250ms")
    assert_equal 1, ended.code, ended.to_s
    assert_match(/p99 ≤ 250 ms is met up to 31\.6 a second, at 63 % utilisation/, flat(ended))
    assert_equal 0, powerband("calc", "queue", "--rate", "31", "--service", "20ms", "--objective", "p99=250ms").code
    never = powerband("calc", "queue", "--service", "100ms", "--objective", "p99=250ms")
    assert_equal 1, never.code, never.to_s
    assert_match(/No rate meets p99 ≤ 250 ms/, flat(never))
  end

  def test_everything_wrong_is_told_at_once
    ended = powerband("calc", "queue", "--rate", "-5", "--service", "-20ms", "--servers", "0", "--scv", "-1",
                      "--objective", "p99=250", "--percentiles", "100")
    assert_refused ended, 2, /--rate = "-5"/, /--service = "-20ms": a negative time/, /--servers = "0"/, /--scv = "-1"/,
                   /--objective = "p99=250"/, /--percentiles = "100"/
    assert_equal 6, ended.messages.size, ended.to_s
  end

  def test_nonsense_is_refused_by_each
    {
      %w[amdahl] => /--parallel is missing; give/,
      %w[amdahl --parallel 1.2] => /--parallel = "1.2": a share is at most 1/,
      %w[amdahl --parallel -0.2] => /--parallel = "-0.2"/,
      %w[threads --held 5 --io 15ms --cores 2] => /--held = "5": a time without a unit/,
      %w[threads --held 0s --io 0s --cores 2] => /the demand is empty/,
      %w[threads --held 5ms --io 15ms --cores 2 --lock 20ms] => /the lock takes 0.02 s of 0.015 s/,
      %w[threads --held 5ms --io 15ms --cores 0] => /--cores = "0"/,
      %w[queue --service 20ms] => /neither --rate nor --objective was given/,
      %w[usl] => /no measurements; give them as --measured/,
      %w[usl --measured 1=100,2=190,4=340] => /3 different N are too few/,
      %w[usl --measured 1=100,2=190,4=340,8=-5] => /"8=-5": no measurement/,
      %w[usl none.csv] => /none\.csv.*name a file that can be read/,
      %w[pool --web-processes 4 --web-threads 5 --max-connections 3] => /leaves nothing of --max-connections/
    }.each do |words, said|
      ended = powerband("calc", *words)
      assert_refused ended, 2, said
      assert_equal 1, ended.messages.size, ended.to_s
    end
  end

  def test_measurements_from_a_file
    path = File.join(@dir, "rows.csv")
    File.write(path, "clients,per second\n#{WORDS['usl'].last.tr('=', ',').gsub(/(,[^,]*),/, "\\1\n")}\n")
    from_file = powerband("calc", "usl", path, "--json")
    assert_equal 0, from_file.code, from_file.to_s
    assert_equal powerband("calc", *WORDS["usl"], "--json").out, from_file.out
  end

  def test_connections_that_the_server_does_not_allow
    ended = powerband("calc", *WORDS["pool"], "--others", "10")
    assert_equal 1, ended.code, ended.to_s
    assert_match(/pool_mode = transaction/, ended.out)
    assert_match(/prepared_statements: false/, ended.out)
  end

  private

  def flat(ended)
    ended.out.split.join(" ")
  end

  # To twelve digits: the last ones are the processor's and its library's.
  def assert_same_figures(expected, found, place = "")
    case expected
    when Hash
      assert_equal expected.keys, found.keys, place
      expected.each { |key, value| assert_same_figures(value, found[key], "#{place}/#{key}") unless key == "powerband_version" }
    when Array
      assert_equal expected.size, found.size, place
      expected.zip(found).each_with_index { |(a, b), index| assert_same_figures(a, b, "#{place}/#{index}") }
    when Float then assert_in_delta expected, found, [expected.abs * 1e-9, 1e-12].max, place
    else
      expected.nil? ? assert_nil(found, place) : assert_equal(expected, found, place)
    end
  end
end
