# frozen_string_literal: true

require "active_record"

ActiveRecord::ConnectionAdapters.const_get(:ConnectionPool) # loaded, as in an application that serves

# A SQLite database of its own, as the application's ActiveRecord sees it. `nap(s)` sleeps inside a query: SQLite itself
# never lets go of the GVL, and a database across a network always does.
class Database
  class Thing < ActiveRecord::Base; end

  # Yields with a connection made and given back, as between two requests.
  def self.open(pool: 5)
    Dir.mktmpdir do |folder|
      ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: File.join(folder, "test.sqlite3"), pool:,
                                              checkout_timeout: 30)
      connection = ActiveRecord::Base.lease_connection
      connection.create_table(:things) { |table| table.string :name }
      Thing.reset_column_information
      Thing.create!(name: "one") # the schema is read and cached
      Thing.first
      release
      yield
    ensure
      release
      ActiveRecord::Base.remove_connection
    end
  end

  def self.nap(seconds)
    connection = ActiveRecord::Base.lease_connection
    raw = connection.raw_connection
    raw.create_function("nap", 1) { |function, s| function.result = sleep(s.to_f).to_i } unless raw.instance_variable_get(:@naps)
    raw.instance_variable_set(:@naps, true)
    connection.select_value("SELECT nap(#{seconds})")
  end

  def self.release
    ActiveRecord::Base.connection_handler.clear_active_connections!
  end

  def self.pool
    ActiveRecord::Base.connection_pool
  end
end
