# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"

# The samples are built from the contract's page by a script that shares nothing with the writer.
class GoldenTest < Minitest::Test
  include Recording

  SAMPLES = File.expand_path("../contract/samples/flight", GEM_ROOT)
  # The first four are files as agents before 0.1 wrote them.
  NAMES = %w[basic wrapped torn truncated wide wide_wrapped armed edged heaped heaped_wide collected contended].freeze

  def sample(name)
    FlightReader.new(File.binread(File.join(SAMPLES, "#{name}.flight")))
  end

  def test_the_committed_samples_are_what_the_script_builds
    Dir.mktmpdir do |folder|
      output, status = Open3.capture2e(RbConfig.ruby, "-w", File.join(SAMPLES, "build.rb"), folder)
      assert_predicate status, :success?, output
      NAMES.product(%w[flight json]).each do |name, type|
        file = "#{name}.#{type}"
        assert_equal File.binread(File.join(SAMPLES, file)), File.binread(File.join(folder, file)), file
      end
    end
  end

  NAMES.each do |name|
    define_method("test_#{name}_reads_as_its_description_says") do
      flight = sample(name)
      expected = JSON.parse(File.read(File.join(SAMPLES, "#{name}.json")), symbolize_names: true)

      assert_equal expected[:header], flight.header.slice(*expected[:header].keys)
      assert_equal expected[:totals], flight.totals
      assert_equal expected[:records], flight.records
      assert_equal expected[:records_readable], flight.records.size
      assert_equal expected[:endpoints].map { |e| e[:name] }, flight.endpoints.map(&:name)
      expected[:endpoints].zip(flight.endpoints).each do |description, endpoint|
        counters = FlightReader::COUNTERS + FlightReader::MORE + FlightReader::STATUSES + FlightReader::EDGES
        assert_equal description.slice(*counters), endpoint.counters
        assert_equal histogram(description[:wall_histogram]), endpoint.wall_histogram
        assert_equal histogram(description[:gvl_wait_histogram]), endpoint.gvl_wait_histogram
        assert_equal histogram(description.fetch(:queue_histogram, [])), endpoint.queue_histogram
      end
      assert_equal expected.fetch(:pool_samples, []), flight.pool_samples
      expected[:heap] ? assert_equal(expected[:heap], flight.heap) : assert_nil(flight.heap)
      locks = flight.locks&.map { |row, lock| { row:, **lock } }
      expected[:locks] ? assert_equal(expected[:locks], locks) : assert_nil(locks)
      expected[:collections] ? assert_equal(expected[:collections], flight.collections) : assert_nil(flight.collections)
    end
  end

  def test_the_writer_lays_out_its_file_as_the_samples_do
    written = record { request }
    golden = sample("contended")

    # Which fields are measured is each process's own.
    assert_equal golden.fields.map { |f| f.to_a.first(4) }, written.fields.map { |f| f.to_a.first(4) }
    same = %i[version header_size record_size field_count field_table_offset endpoint_offset endpoint_size
              totals_offset totals_size pool_sample_size about_offset about_size
              variables_offset variables_size]
    assert_equal golden.header.slice(*same), written.header.slice(*same)
    assert_equal 8192 + (256 * 2048), written[:pool_offset]
    assert_equal written[:pool_offset] + (1024 * 32), written.place_of_locks.first
    assert_equal [192, 64], written.place_of_locks.drop(1)
    assert_equal written.place_of_locks.first + (64 * 192), written[:ring_offset]
    assert_equal 1024, written[:pool_capacity]
    assert_equal [written[:ring_offset] + (64 * 192), 160, 2048], written.places_of_collections.first(3)
    assert_equal 256, written[:endpoint_capacity]
    assert_equal sample("heaped_wide").place_of_heap, written.place_of_heap
  end

  def test_the_writer_books_as_the_contract_says
    flight = record { 40.times { |n| request("PATH_INFO" => "/#{n % 3}x", "REQUEST_METHOD" => %w[GET PUT][n % 2]) } }
    by_endpoint = flight.records.group_by { |r| r[:endpoint] }

    flight.endpoints.drop(1).each do |endpoint|
      records = by_endpoint.fetch(endpoint.index)
      assert_equal records.size, endpoint.counters[:requests]
      %i[wall_ns held_ns gvl_wait_ns io_ns cpu_ns allocations yields queue_ns].each do |name|
        assert_equal records.sum { |r| r[name] }, endpoint.counters[name], name
      end
      assert_equal records.map { |r| Powerband::Native.bucket(r[:wall_ns]) }.tally, endpoint.wall_histogram
      assert_equal records.map { |r| Powerband::Native.bucket(r[:gvl_wait_ns]) }.tally, endpoint.gvl_wait_histogram
    end
  end

  # Where no bucket ends: a request of 80 ms is in the same bucket as one of 70.
  def test_the_writer_counts_75_and_250_ms_exactly
    flight = record do
      3.times { request }
      request("PATH_INFO" => "/slow") { |_| sleep(0.08).then { [200, {}, []] } }
      request("PATH_INFO" => "/slower") { |_| sleep(0.26).then { [200, {}, []] } }
    end
    assert_equal 16, flight[:flags] & 16
    by_endpoint = flight.records.group_by { |r| r[:endpoint] }
    counted = flight.endpoints.drop(1).map { |endpoint| [endpoint.counters, by_endpoint.fetch(endpoint.index)] }

    [[flight.totals, flight.records], *counted].each do |counters, records|
      { wall_up_to_75ms: 75_000_000, wall_up_to_250ms: 250_000_000 }.each do |name, edge|
        assert_equal records.count { |r| r[:wall_ns] <= edge }, counters[name], name
      end
    end
    assert_operator flight.totals[:wall_up_to_75ms], :<=, 3
    assert_operator flight.totals[:wall_up_to_250ms], :<=, 4
  end

  private

  def histogram(buckets)
    buckets.to_h { |b| [b[:bucket], b[:count]] }
  end
end
