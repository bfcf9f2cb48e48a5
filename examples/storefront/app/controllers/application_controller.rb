class ApplicationController < ActionController::Base
  rescue_from ActiveRecord::RecordNotFound do
    render plain: "Not found\n", status: :not_found
  end
end
