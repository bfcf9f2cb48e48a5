# frozen_string_literal: true

require "support/server_process"

# The example shop, in production, with a database of its own and its stock service.
class Storefront
  FOLDER = File.expand_path("../../../examples/storefront", __dir__)

  # Yields the server; returns what its flight files hold, and its log.
  def self.run(*arguments, env: {})
    Dir.mktmpdir("powerband-storefront-") do |folder|
      upstream = nil
      out, err, status = Open3.capture3(Processes::CLEAN, "bin/seed", folder, chdir: FOLDER)
      raise "the shop cannot be seeded: #{out}#{err}" unless status.success?

      upstream = Service.new do |port|
        [Processes::CLEAN.merge("UPSTREAM_PORT" => port.to_s), RbConfig.ruby, File.join(FOLDER, "bin/upstream")]
      end
      settings = { "RAILS_ENV" => "production", "UPSTREAM_PORT" => upstream.port.to_s,
                   "DATABASE_URL" => out[/DATABASE_URL=(\S+)/, 1] }
      log = nil
      flights = PumaServer.run("-C", "-", *arguments, app: [], chdir: FOLDER, env: settings.merge(env)) do |server|
        yield server
        log = server.log
      end
      return flights, log
    ensure
      upstream&.stop
    end
  end
end
