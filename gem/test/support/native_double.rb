# frozen_string_literal: true

# Makes one of the extension's methods raise or answer something else while the block runs.
module NativeDouble
  def with_native(name, answer)
    native = Powerband::Native
    real = native.method(name)
    native.singleton_class.silence_redefinition(name) { native.define_singleton_method(name, &answer) }
    yield
  ensure
    native.singleton_class.silence_redefinition(name) { native.define_singleton_method(name, real) }
  end
end

class Module
  def silence_redefinition(name)
    remove_method(name) if method_defined?(name, false)
    yield
  end
end
