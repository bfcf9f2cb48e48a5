Rails.application.routes.draw do
  get "up" => "rails/health#show", as: :rails_health_check

  root "products#index"

  resources :products, only: %i[index show] do
    resource :availability, only: :show
  end

  resource :search, only: :show
  resource :checkout, only: :create

  namespace :reports do
    resource :sales, only: :show
  end
end
