# frozen_string_literal: true

# Loaded into any Ruby process by RUBYLIB=<gem>/lib RUBYOPT=-rpowerband/inject, Bundler or not. It waits for Puma's
# server to be defined and does nothing in a process where that never happens: no library, no extension, no output.

module Powerband
  # Watches constants being defined. Puma loads its parts with autoload, and asking for one too early breaks its
  # boot: a constant is touched only once it is really there.
  module Inject
    # Prepended to the singleton classes of Object, Puma and Puma::Cluster. That of Object is every class's ancestor,
    # hence the test in `seen`.
    module Watch
      private

      def const_added(name)
        Inject.seen(self, name) if Inject::AWAITED.key?(name)
        super
      end
    end

    # constant => the namespace that it is awaited in
    AWAITED = { Puma: "", Server: "Puma", Cluster: "Puma", Worker: "Puma::Cluster" }.freeze

    class << self
      def install
        return unless supported? && !@installed

        @installed = true
        watch(::Object)
        seen(::Object, :Puma) if ::Object.const_defined?(:Puma, false)
      end

      def seen(namespace, name)
        return unless AWAITED[name] == name_of(namespace) && !namespace.autoload?(name, false)

        arrived(namespace.const_get(name, false), name)
      rescue StandardError, ScriptError => e
        say("cannot hook into #{name}: #{e.class}: #{e.message}")
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

      def name_of(namespace)
        ::Object.equal?(namespace) ? "" : ::Module.instance_method(:name).bind_call(namespace)
      end

      def watch(namespace)
        namespace.singleton_class.prepend(Watch)
      end

      def arrived(constant, name)
        case name
        when :Server then hook(constant, :Server)
        when :Worker then hook(constant, :Worker)
        else
          watch(constant)
          AWAITED.each do |inner, outer|
            seen(constant, inner) if outer == name_of(constant) && constant.const_defined?(inner, false)
          end
        end
      end

      # The library itself is loaded only here, in a process that is going to serve.
      def hook(constant, name)
        require_relative "../powerband"
        return unless Powerband.config.enabled? && Native.available?

        constant.prepend(PumaHooks.const_get(name, false))
      end
    end
  end
end

Powerband::Inject.install
