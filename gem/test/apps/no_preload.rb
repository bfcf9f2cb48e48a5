# frozen_string_literal: true

preload_app! false
