class CreateShop < ActiveRecord::Migration[7.2]
  def change
    create_table :categories do |t|
      t.string :name, null: false, index: { unique: true }
      t.timestamps
    end

    create_table :products do |t|
      t.references :category, null: false, foreign_key: true
      t.string :name, null: false
      t.string :sku, null: false, index: { unique: true }
      t.text :description, null: false
      t.integer :price_cents, null: false
      t.timestamps
    end

    create_table :reviews do |t|
      t.references :product, null: false, foreign_key: true
      t.string :author, null: false
      t.integer :rating, null: false
      t.text :body, null: false
      t.timestamps
    end

    create_table :orders do |t|
      t.string :email, null: false
      t.date :placed_on, null: false, index: true
      t.integer :total_cents, null: false
      t.timestamps
    end

    create_table :order_items do |t|
      t.references :order, null: false, foreign_key: true
      t.references :product, null: false, foreign_key: true
      t.integer :quantity, null: false
      t.integer :unit_price_cents, null: false
      t.timestamps
    end
  end
end
