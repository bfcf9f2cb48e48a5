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
      "Unicorn::HttpServer" => %i[UnicornHooks HttpServer],
      "PhusionPassenger::RequestHandler" => %i[PassengerHooks RequestHandler], "Sidekiq::CLI" => %i[SidekiqHooks Cli]
    }.freeze
    NAMESPACES = %w[Puma Puma::Cluster Unicorn PhusionPassenger Sidekiq].freeze
    # The last part of each name, which is all that `const_added` is told.
    AWAITED = (HOOKS.keys + NAMESPACES).to_h { |path| [path[/\w+\z/].to_sym, true] }.freeze

    class << self
      def install
        return unless supported? && !@installed

        @installed = true
        arrived(::Object, nil)
      end

      def seen(namespace, name)
        path = path_of(namespace, name)
        return unless (HOOKS.key?(path) || NAMESPACES.include?(path)) && !namespace.autoload?(name, false)

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

      def supported?
        RUBY_ENGINE == "ruby" && ::Module.private_method_defined?(:const_added)
      end

      def path_of(namespace, name)
        return name.to_s if ::Object.equal?(namespace)

        "#{::Module.instance_method(:name).bind_call(namespace)}::#{name}"
      end

      def arrived(constant, path)
        return hook(constant, HOOKS.fetch(path)) if HOOKS.key?(path)

        constant.singleton_class.prepend(Watch)
        AWAITED.each_key { |name| seen(constant, name) if constant.const_defined?(name, false) }
      end

      # The library itself is loaded only here, in a process that is going to serve.
      def hook(constant, hooks)
        require_relative "../powerband"
        Powerband.complain
        return unless Powerband.config.enabled? && Native.available?

        constant.prepend(hooks.reduce(Powerband) { |outer, name| outer.const_get(name, false) })
      end
    end
  end
end

Powerband::Inject.install
