# frozen_string_literal: true

# Loaded into any Ruby process by RUBYLIB=<gem>/lib RUBYOPT=-rpowerband/inject, Bundler or not. It waits for a server
# to be defined and does nothing in a process where that never happens: no library, no extension, no output.

module Powerband
  # Watches constants being defined. Puma loads its parts with autoload, and asking for one too early breaks its
  # boot: a constant is touched only once it is really there.
  module Inject
    # Prepended to the singleton classes of Object and of the namespaces below. That of Object is every class's ancestor,
    # hence the test in `seen`.
    module Watch
      private

      def const_added(name)
        Inject.seen(self, name) if Inject::AWAITED.key?(name)
        super
      end
    end

    # What is awaited, and what is prepended to it once it is there: [in Powerband's, the module].
    HOOKS = {
      "Puma::Server" => %i[PumaHooks Server], "Puma::Cluster::Worker" => %i[PumaHooks Worker],
      "Unicorn::HttpServer" => %i[UnicornHooks HttpServer], "Pitchfork::HttpServer" => %i[UnicornHooks HttpServer],
      "Falcon::Service::Server" => %i[FalconHooks Service], "Falcon::Server" => %i[FalconHooks Server],
      "PhusionPassenger::RequestHandler" => %i[PassengerHooks RequestHandler], "Sidekiq::CLI" => %i[SidekiqHooks Cli]
    }.freeze
    NAMESPACES = %w[Puma Puma::Cluster Unicorn Pitchfork Falcon Falcon::Service PhusionPassenger Sidekiq].freeze
    # What is awaited besides, where a process is to be set up for an experiment (setup.rb).
    SETUP = if ENV.any? { |name, _| name.start_with?("POWERBAND_SETUP_") }
              %w[Puma::Runner Puma::Cluster Puma::Cluster::Worker Unicorn::HttpServer Pitchfork::HttpServer
                 PhusionPassenger::LoaderSharedHelpers PhusionPassenger::PreloaderSharedHelpers]
            else
              []
            end.freeze
    # The last part of each name, which is all that `const_added` gets.
    AWAITED = (HOOKS.keys + NAMESPACES + SETUP).to_h { |path| [path[/\w+\z/].to_sym, true] }.freeze

    class << self
      def install
        return unless supported? && !@installed

        @installed = true
        arrived(::Object, nil)
      end

      def seen(namespace, name)
        path = path_of(namespace, name)
        return unless (hooked?(path) || NAMESPACES.include?(path)) && !namespace.autoload?(name, false)

        arrived(namespace.const_get(name, false), path)
      rescue StandardError, ScriptError => e
        say("cannot hook into #{path || name}: #{e.class}: #{e.message}")
      end

      private

      # The library, which could say it too, may be what cannot be loaded.
      def say(message)
        $stderr.puts "powerband: #{message}" # rubocop:disable Style/StderrPuts
      rescue IOError, SystemCallError
        nil
      end

      # A library that put a `const_added` before Ruby's own may have made it public, as Zeitwerk 2.7 does.
      def supported?
        RUBY_ENGINE == "ruby" && (::Module.private_method_defined?(:const_added) || ::Module.method_defined?(:const_added))
      end

      def path_of(namespace, name)
        return name.to_s if ::Object.equal?(namespace)

        "#{::Module.instance_method(:name).bind_call(namespace)}::#{name}"
      end

      def hooked?(path)
        HOOKS.key?(path) || SETUP.include?(path)
      end

      def arrived(constant, path)
        watch(constant) if path.nil? || NAMESPACES.include?(path)
        hook(constant, path) if hooked?(path)
      end

      def watch(namespace)
        namespace.singleton_class.prepend(Watch)
        AWAITED.each_key { |name| seen(namespace, name) if namespace.const_defined?(name, false) }
      end

      # The library itself is loaded only here, in a process that is going to serve.
      def hook(constant, path)
        require_relative "../powerband"
        Powerband.complain
        return unless Powerband.config.enabled? && Native.available?

        constant.prepend(HOOKS[path].reduce(Powerband) { |outer, name| outer.const_get(name, false) }) if HOOKS.key?(path)
        Powerband.setup&.hook(constant, path)
      end
    end
  end
end

Powerband::Inject.install
