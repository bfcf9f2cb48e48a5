# frozen_string_literal: true

# A setting written into the file wins over RAILS_MAX_THREADS.
threads 5, 5
