Rails.application.config.filter_parameters += %i[email passw secret token _key crypt salt certificate otp ssn]
