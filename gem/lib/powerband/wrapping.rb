# frozen_string_literal: true

module Powerband
  # Puts code of ours around a method of a class of another library, in the one of two ways that goes together with all
  # others that do so. Code that takes the method by alias gets, where a module is prepended, that module's: its `super`
  # is then the alias' own caller, and the two call each other until the stack is full. Hence no module is prepended,
  # except where another one already is, for which an alias of ours would do the same.
  module Wrapping
    @wrapped = {}

    class << self
      # Once for each method. The block is given the code of the call and returns the body around it. Raises NameError
      # where there is no such method. `as` distinguishes wrappers of the same method.
      def wrap(owner, name, as: "powerband", &body)
        return if @wrapped[[owner, name, as]]

        original = owner.instance_method(name)
        hidden = owner.private_method_defined?(name)
        if prepended?(owner, original)
          prepend(owner, original, hidden, &body)
        else
          replace(owner, original, hidden, "#{name}_without_#{as}", &body)
        end
        @wrapped[[owner, name, as]] = true
      end

      private

      def prepended?(owner, method)
        owner.ancestors.take_while { |ancestor| !owner.equal?(ancestor) }.include?(method.owner)
      end

      def prepend(owner, original, hidden)
        wrapper = Module.new
        define(wrapper, original, yield("super"), hidden)
        owner.prepend(wrapper)
      end

      def replace(owner, original, hidden, name)
        owner.send(:alias_method, name, original.name)
        define(owner, original, yield("#{name}#{signature(original)}"), hidden)
      end

      def define(target, original, body, hidden)
        target.class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
          #{'private ' if hidden}def #{original.name}#{signature(original)} # def handle_request(a0, a1, &block)
            #{body}
          end
        RUBY
      end

      # What the original takes, which differs by version: a splat would make an Array for each call.
      def signature(method)
        plain = method.parameters.all? { |kind, _| kind == :req }
        plain ? "(#{[*Array.new(method.arity) { |i| "a#{i}" }, '&block'].join(', ')})" : "(...)"
      end
    end
  end
end
