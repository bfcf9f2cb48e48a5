# frozen_string_literal: true

# A library that is to replace something before the application is loaded.
SetupSpy::SEEN["order"] << "drop_in"
