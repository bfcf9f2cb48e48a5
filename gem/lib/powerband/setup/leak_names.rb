# frozen_string_literal: true

module Powerband
  class Setup
    # By which name an object holds another one: a dump of the heap has references, but not the names of constants and variables.
    # Nothing of the application is called.
    module LeakNames
      GLOBAL = /\A\$[a-z]\w*\z/i
      # Reading these warns, or opens a file that an argument names.
      READ_BY_RUBY = %i[$FILENAME $KCODE $DEBUG $VERBOSE].freeze
      ROOT = 0
      # Thread#keys are those of fibers; both kinds are read by methods of Thread itself.
      LOCALS = [%i[keys [] Thread.current], %i[thread_variables thread_variable_get thread_variable]].freeze

      class << self
        # `pairs`: holder-held,holder-held… as hexadecimal addresses; a root of the heap is 0. By the pair: the name, and of a
        # constant the place where it is defined, else an empty text.
        def of(pairs)
          wanted = by_holder(pairs)
          names = named("0", globals, wanted.fetch(ROOT, []))
          ObjectSpace.each_object do |holder|
            address = Native.address(holder)
            names.merge!(named(address.to_s(16), each_of(holder), wanted[address])) if wanted.key?(address)
          end
          names
        end

        private

        def by_holder(pairs)
          pairs = pairs.split(",").map { |pair| pair.split("-").map { |address| Integer(address, 16) } }
          pairs.group_by(&:first).transform_values { |found| found.map(&:last) }
        end

        def named(holder, fields, held)
          fields.each_with_object({}) do |(name, value, place), names|
            address = Native.address(value)
            names["#{holder}-#{address.to_s(16)}"] ||= [name, place.to_s] if address && held.include?(address)
          end
        end

        def each_of(holder)
          variables = method_of(Kernel, :instance_variables, holder).map do |name|
            [name.to_s, method_of(Kernel, :instance_variable_get, holder, name)]
          end
          case holder
          when Module then variables + of_module(holder)
          when Thread then variables + of_thread(holder)
          when Struct then variables + method_of(Struct, :each_pair, holder).map { |name, value| [name.to_s, value] }
          else variables
          end
        end

        def of_module(holder)
          constants = method_of(Module, :constants, holder, false)
          constants.reject! { |name| method_of(Module, :autoload?, holder, name, false) }
          # A deprecated constant warns.
          before = Warning[:deprecated]
          Warning[:deprecated] = false
          found = constants.map do |name|
            place = method_of(Module, :const_source_location, holder, name, false)
            [name.to_s, method_of(Module, :const_get, holder, name, false), place&.join(":")]
          end
          found + method_of(Module, :class_variables, holder, false).map do |name|
            [name.to_s, method_of(Module, :class_variable_get, holder, name)]
          end
        ensure
          Warning[:deprecated] = before
        end

        def of_thread(holder)
          LOCALS.flat_map do |names, read, shown|
            method_of(Thread, names, holder).map { |name| ["#{shown}[:#{name}]", method_of(Thread, read, holder, name)] }
          end
        end

        def globals
          (global_variables.grep(GLOBAL) - READ_BY_RUBY).map { |name| [name.to_s, eval(name.to_s)] } # rubocop:disable Security/Eval
        end

        # As the class defines it, whatever a subclass or the object itself makes of the name.
        def method_of(owner, name, object, *arguments)
          owner.instance_method(name).bind_call(object, *arguments)
        end
      end
    end
  end
end
