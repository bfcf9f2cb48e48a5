# frozen_string_literal: true

# Proof that nothing is left: no process on this machine has the test's mark in its environment. Children inherit it,
# including daemons and processes in other sessions.
module LeftRunning
  VARIABLE = "E2E_MARK"

  def assert_nothing_left_running(within: 15)
    await("the end of #{marked.map { |pid| described(pid) }.join('; ')}", within: within) { marked.empty? }
  end

  # Ids of the processes that carry the mark, this test's own commands among them.
  def marked
    assignment = "#{VARIABLE}=#{@mark}".b
    Dir.glob("/proc/[0-9]*").filter_map do |folder|
      pid = Integer(File.basename(folder))
      pid if File.binread("#{folder}/environ").split("\0").include?(assignment) && alive?(folder)
    rescue SystemCallError
      nil # it ended, or is another user's
    end
  end

  # The marked processes whose command line matches.
  def marked_like(pattern)
    marked.select { |pid| described(pid).match?(pattern) }
  end

  def described(pid)
    "#{pid} #{File.binread("/proc/#{pid}/cmdline").tr("\0", ' ').strip}"
  rescue SystemCallError
    pid.to_s
  end

  private

  # A zombie runs no more; it only waits to be asked how it ended.
  def alive?(folder)
    File.read("#{folder}/stat").rpartition(")").last.split.first != "Z"
  end
end
