module Reports
  class SalesController < ApplicationController
    ORDERS = 250
    MAX_ORDERS = 1_000

    def show
      @report = SalesReport.new(params.fetch(:orders, ORDERS).to_i.clamp(1, MAX_ORDERS))
    end
  end
end
