# frozen_string_literal: true

# Fills a migrated, empty Redmine database: default data and a company's worth of public projects. The same rows every
# time: a pinned generator, fixed dates. Run by ./seed inside Redmine (`rails runner`).
class RedmineSeed
  EPOCH = Time.utc(2026, 1, 31, 12)
  PROJECTS = { "engine" => "Engine", "gearbox" => "Gearbox", "chassis" => "Chassis", "dashboard" => "Dashboard" }.freeze
  MODULES = %w[issue_tracking time_tracking news documents wiki calendar gantt].freeze
  NAMES = %w[Ada Bo Cleo Dag Eva Finn Greta Hugo Ida Jon Kaia Leo].freeze
  CATEGORIES = %w[Design Production Service].freeze
  VERSIONS = %w[1.0 1.1 2.0].freeze
  WORDS = %w[engine throttle valve piston gear clutch brake sensor cable frame wheel bolt pump filter oil heat noise
             pressure torque speed load idle start stop fails leaks turns stalls measured replaced cleaned tightened
             report manual drawing supplier batch test bench road winter].freeze
  ISSUES = 500
  PAGES = 12

  def initialize
    @random = Random.new(42)
    @projects = []
  end

  def run
    Setting.notified_events = []
    Redmine::DefaultData::Loader.load("en")
    users
    PROJECTS.each { |identifier, name| add_project(identifier, name) }
    add_issues
    add_journals
    projects.each { |project| add_wiki(project) }
  end

  # Of SQLite it leaves one file, with nothing in a write-ahead log.
  def close
    connection = ActiveRecord::Base.connection
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") if connection.adapter_name == "SQLite"
    ActiveRecord::Base.connection_handler.clear_all_connections!(:all)
  end

  private

  attr_reader :projects

  def users
    @users ||= NAMES.map do |name|
      user = User.new(firstname: name, lastname: "Powers", mail: "#{name.downcase}@example.com", language: "en",
                      mail_notification: "none")
      user.login = name.downcase
      user.password = "#{user.login}-powers"
      user.tap(&:save!)
    end
  end

  def add_project(identifier, name)
    project = Project.create!(name:, identifier:, description: text(2), is_public: true, trackers: Tracker.sorted.to_a,
                              enabled_module_names: MODULES)
    project.update_columns(created_on: EPOCH, updated_on: EPOCH)
    add_members(project)
    add_versions(project)
    CATEGORIES.each { |category| project.issue_categories.create!(name: category) }
    projects << project
  end

  def add_members(project)
    roles = Role.givable.to_a
    users.each_with_index { |user, n| Member.create!(project:, principal: user, roles: [roles.fetch(n % roles.size)]) }
  end

  def add_versions(project)
    VERSIONS.each_with_index do |version, n|
      project.versions.create!(name: version, description: sentence, effective_date: EPOCH.to_date + (30 * n))
    end
  end

  # Rows, not records: what a tracker collects in months is inserted in a second.
  def add_issues
    Issue.insert_all!((1..ISSUES).map { |id| { id:, **issue_place(id), **issue_content, **issue_dates(id) } })
  end

  # Every issue is the root of a separate tree.
  def issue_place(id)
    project = projects.fetch(id % projects.size)
    { project_id: project.id, tracker_id: pick(project.tracker_ids), category_id: pick(project.issue_category_ids),
      fixed_version_id: pick(project.version_ids), root_id: id, lft: 1, rgt: 2, lock_version: 0, is_private: false }
  end

  def issue_content
    { subject: sentence.chomp("."), description: text(3), priority_id: pick(priorities).id, author_id: pick(users).id,
      assigned_to_id: pick(users).id }
  end

  def issue_dates(id)
    status = pick(statuses)
    opened = opened_at(id)
    { status_id: status.id, done_ratio: status.is_closed? ? 100 : @random.rand(10) * 10, start_date: opened.to_date,
      due_date: opened.to_date + @random.rand(60), created_on: opened, updated_on: opened,
      closed_on: status.is_closed? ? opened : nil }
  end

  # One every four hours, the last at EPOCH: ten days, what the activity page shows, hold sixty of them.
  def opened_at(id)
    EPOCH - ((ISSUES - id) * 4).hours
  end

  # Two to six comments an issue, every other comment with a change of the progress.
  def add_journals
    journals = (1..ISSUES).flat_map { |issue| Array.new(@random.rand(2..6)) { |n| journal(issue, n) } }
    journals = journals.map.with_index(1) { |row, id| { id:, **row } }
    journals.each_slice(500) { |slice| Journal.insert_all!(slice) }
    JournalDetail.insert_all!(journals.filter_map { |row| progress(row[:id]) if row[:id].even? })
  end

  def journal(issue, number)
    at = opened_at(issue) + ((number + 1) * 10).minutes
    { journalized_id: issue, journalized_type: "Issue", user_id: pick(users).id, notes: text(1), created_on: at,
      updated_on: at, private_notes: false }
  end

  def progress(journal_id)
    { journal_id:, property: "attr", prop_key: "done_ratio", old_value: "0", value: "50" }
  end

  def statuses
    @statuses ||= IssueStatus.sorted.to_a
  end

  def priorities
    @priorities ||= IssuePriority.active.to_a
  end

  def add_wiki(project)
    wiki = project.wiki || Wiki.create!(project:, start_page: "Wiki")
    ["Wiki", *(1...PAGES).map { |n| "Chapter_#{n}" }].each { |title| add_page(wiki, title) }
  end

  def add_page(wiki, title)
    page = WikiPage.new(wiki:, title:)
    page.content = WikiContent.new(page:, author: users.first, text: wiki_text(title))
    page.save!
    page.update_columns(created_on: EPOCH)
    page.content.update_columns(updated_on: EPOCH)
    page.content.versions.update_all(updated_on: EPOCH)
  end

  def wiki_text(title)
    sections = Array.new(6) do |n|
      table = Array.new(6) { "| #{pick(WORDS)} | #{@random.rand(100)} |" }.join("\n")
      "## Section #{n + 1}\n\n#{text(2)}\n\n* [[Chapter_#{n + 1}]]\n* ##{@random.rand(1..ISSUES)}\n\n" \
        "| part | count |\n|---|---|\n#{table}\n"
    end
    "# #{title.tr('_', ' ')}\n\n#{sections.join("\n")}"
  end

  def text(paragraphs)
    Array.new(paragraphs) { Array.new(4) { sentence }.join(" ") }.join("\n\n")
  end

  def sentence
    "#{Array.new(@random.rand(5..12)) { pick(WORDS) }.join(' ').capitalize}."
  end

  def pick(list)
    list.fetch(@random.rand(list.size))
  end
end

seed = RedmineSeed.new
seed.run
seed.close
