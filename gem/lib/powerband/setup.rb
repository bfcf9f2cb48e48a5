# frozen_string_literal: true

require_relative "setup/asked"
require_relative "setup/between_requests"
require_relative "setup/heap"
require_relative "setup/leak"
require_relative "setup/libraries"
require_relative "setup/out_of_band"
require_relative "setup/profiled"
require_relative "setup/report"
require_relative "setup/servers"

module Powerband
  # What Ruby takes by a call and not by a variable, done from outside in a server that knows nothing of it, so that it can
  # be measured (docs/agent.md, contract/setup-v1.md). Loaded only where a variable asks for it. Each step stands alone: one
  # that fails is said, reported and left out. A forked process inherits its parent's set-up.
  class Setup
    include BetweenRequests

    # What cannot be done here, with the reason and what helps.
    class Refused < StandardError; end

    # Out of band the report is written again for its number of runs: for the first, and then so often at most.
    REPORT_EVERY_S = 1

    def initialize(env = ENV)
      @asked = Asked.new(env)
      @failed = []
      @done_by = {}
      @loaded = nil
      @prepared = nil
      @surrounded = {}
      @profiles = @minor_only = false
      @asked.errors.each { |what, message| failed(what, message) }
    end

    def hook(constant, path)
      Servers.hook(constant, path)
    end

    # The load path is the one that the application will have, and the application is about to be loaded.
    def before_application
      return if @loaded

      @loaded = []
      @asked.libraries.each { |name| attempt(:require) { @loaded << name if Libraries.load(name) } }
    end

    # In a process that is about to fork others, which serve an application that is loaded. `application` distinguishes
    # a newly loaded one from its predecessor.
    def forking(application)
      # Puma looks for missing workers every few seconds, whether there are any or not.
      return if @prepared.equal?(application)

      prepare(application)
      report("master") if @done_by.any? || @loaded&.any?
    end

    # In a process that is about to serve. The block puts what collects out of band into the server, or raises.
    def serving(middleware, application, &attach)
      prepare(application)
      attempt(:auto_compact) { Heap.auto_compact } if @asked.auto_compact?
      attempt(:gc_profiler) { profile(middleware) } if @asked.gc_profiler?
      attempt(:oob_gc) { collect_out_of_band(&attach) } if @asked.oob_gc.positive?
      attempt(:oob_major) { major_out_of_band(&attach) } if @asked.oob_major?
      attempt(:leak) { surround(middleware, :leak) { |app| Leak.new(app, @asked.leak) } } unless @asked.leak.empty?
      report("server")
    end

    # Where the server counts no requests itself.
    def after_request
      @out_of_band.collect if @out_of_band&.one_more?
    rescue StandardError => e
      Powerband.fault("the collector does not run out of band", e)
    end

    private

    # The collector's work before the heap is shared with children, or before the first request.
    def prepare(application)
      return if @prepared.equal?(application)

      @prepared = application
      # Warming up is last, because it gives back what compacting leaves empty.
      once(:compact) { Heap.compact } if @asked.compact?
      once(:warmup) { Heap.warmup } if @asked.warmup?
    end

    def once(what)
      attempt(what) do
        yield
        @done_by[what] = Process.pid
      end
    end

    # Code that has switched it on already clears it, too.
    def profile(middleware)
      @profiles ||= !GC::Profiler.enabled?
      return unless @profiles

      GC::Profiler.enable
      surround(middleware, :gc_profiler) { |app| Profiled.new(app) }
    end

    # Once, however often the server says that it serves.
    def surround(middleware, what, &)
      middleware.surround(&) unless middleware.equal?(@surrounded[what])
      @surrounded[what] = middleware
    end

    def attempt(what)
      yield
    rescue Refused => e
      failed(what, e.message)
    rescue StandardError, ScriptError => e
      failed(what, "#{e.message} (#{e.class})")
    end

    def failed(what, why)
      failure = { what: what.to_s, why: why.scrub }
      return if @failed.include?(failure)

      @failed << failure
      Powerband.say("not set up as asked: #{what}: #{failure[:why]}")
    end

    def report_due?
      @out_of_band.runs == 1 || Process.clock_gettime(Process::CLOCK_MONOTONIC) - @reported_s >= REPORT_EVERY_S
    end

    def report_again
      report("server") if report_due?
    end

    def report(role)
      @reported_s = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Report.write(Powerband.config.user_folder, { role: role, **figures })
    rescue StandardError => e
      Powerband.fault("what was set up is not reported", e)
    end

    def figures
      {
        warmup: @done_by.key?(:warmup), compact: @done_by.key?(:compact),
        auto_compact: @asked.auto_compact? && GC.auto_compact == true,
        gc_profiler: @asked.gc_profiler? && GC::Profiler.enabled?,
        **figures_out_of_band, require: @loaded || [], versions: Libraries.versions(@asked.gems),
        inherited: @done_by.reject { |_, pid| pid == Process.pid }.keys.map(&:to_s), failed: @failed
      }
    end
  end
end
