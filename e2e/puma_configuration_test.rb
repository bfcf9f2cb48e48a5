# frozen_string_literal: true

require_relative "support/powerband"

# The application's own configuration as the installed Puma reads it: what the baseline is, unless one is given.
class PumaConfigurationTest < PowerbandTest
  parallelize_me!

  def test_threads_and_workers
    write("threads 2, 7\nworkers 3\n")
    assert_match(/configuration is read, which says:\n# \[baseline\]\n# threads = 7\n# workers = 3$/, drafted)
  end

  def test_a_configuration_that_puma_cannot_read
    write("workers 'many' do\n")
    refute_match(/which says/, drafted)
  end

  private

  def write(configuration)
    Dir.mkdir(File.join(@dir, "config"))
    File.write(File.join(@dir, "config/puma.rb"), configuration)
    File.write(File.join(@dir, "config.ru"), "run ->(_env) { [200, {}, []] }\n")
  end

  def drafted
    ended = powerband("init", "--print", "--app", @dir)
    assert_equal 0, ended.code, ended.to_s
    ended.out
  end
end
