# frozen_string_literal: true

module Powerband
  class Metrics
    # What is true at this moment of the processes that live.
    module Gauges
      class << self
        # Of these files' processes.
        def of(files, unreadable, unrecorded)
          pools = files.flat_map { |file| file.pools.to_a }.group_by(&:first)
          { processes: files.size, in_flight: files.sum(&:in_flight), unreadable: unreadable, unrecorded: unrecorded,
            pools: pools.transform_values { |samples| samples.map(&:last).transpose.map(&:sum) },
            resident: known(files) { |file| Living.resident(file) } }.merge(servers(files))
        end

        # How many processes the servers are set to run: of a cluster its number of workers, else the process itself. Workers
        # of one cluster have the same parent, save those that Puma's first worker forks (`fork_worker`). The number may change
        # while the cluster runs, so the youngest file has it.
        def expected(files)
          clustered, single = files.partition { |file| file.about.workers.to_i.positive? }
          single.size + clusters(clustered).sum { |same| same.max_by(&:created_mono_ns).about.workers }
        end

        private

        def clusters(files)
          parents = files.to_h { |file| [[file.origin, file.pid], file.about.parent_pid] }
          files.group_by do |file|
            parent = file.about.parent_pid
            [file.origin, parents.fetch([file.origin, parent], parent)]
          end.values
        end

        def servers(files)
          kinds = files.group_by { |file| file.about.labels }.sort_by { |labels, _| labels.values.map(&:b) }
          { expected: expected(files), threads: known(files) { |file| file.about.threads },
            servers: kinds.map { |labels, same| labels.merge(sizes(same.map(&:about))) } }
        end

        # What they agree on; during a restart with other settings nothing.
        def sizes(abouts)
          { "threads" => abouts.map(&:threads), "workers" => abouts.map(&:workers) }.transform_values do |numbers|
            numbers.uniq.size == 1 ? numbers.first.to_s : ""
          end
        end

        # A sum; nil where nothing is known.
        def known(files, &number)
          numbers = files.filter_map(&number)
          numbers.sum if numbers.any?
        end
      end

      # Writes them.
      class Lines
        def initialize(gauges, text)
          @gauges = gauges
          @text = text
        end

        def write
          pools
          Families::LIVE.each { |name, help, key| @text.family(name, "gauge", help) { @text.sample("", @gauges[key]) } }
          unrecorded
          servers
        end

        private

        def pools
          Families::POOLS.each do |name, help, states|
            @text.family(name, "gauge", help) do
              @gauges.fetch(:pools).sort.each do |pool, sample|
                states.each { |state, at| @text.sample(Text.labels("pool" => pool.to_s, "state" => state), sample[at]) }
              end
            end
          end
        end

        def unrecorded
          @text.family("processes_unrecorded", "gauge", Families::UNRECORDED_HELP) do
            @gauges.fetch(:unrecorded).each { |reason, number| @text.sample(Text.labels("reason" => reason), number) }
          end
        end

        def servers
          @text.family("server_info", "gauge", "What live processes are, always 1.") do
            @gauges.fetch(:servers).each { |labels| @text.sample(Text.labels(labels), 1) }
          end
        end
      end
    end
  end
end
