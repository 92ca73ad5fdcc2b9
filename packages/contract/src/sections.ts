import type { contract } from './contract.ts'

interface Section {
  title: string
  description: string
}

/** Titles and descriptions of the contract's sections, for the OpenAPI document. */
export const sections: Record<keyof typeof contract, Section> = {
  accounts: {
    title: 'Accounts',
    description:
      'An account is a connected mailbox that the service keeps in sync. Connect one, watch its `status` ' +
      'and `runtime`, pause it, delete it.',
  },
  sharedMailboxes: {
    title: 'Shared mailboxes',
    description:
      'Mailboxes of a team that an account of Microsoft can open. Each becomes an account, which is listed, followed, ' +
      'sent from and counted like any other.',
  },
  autoconfig: {
    title: 'Finding servers',
    description: 'Find the mail servers of an address before you connect it.',
  },
  connectSessions: {
    title: 'Connecting with a link',
    description:
      'Links by which users connect their mailboxes in a browser: hosted, with a choice of providers and a form for ' +
      'IMAP, or headless, for one provider.',
  },
  hostedConnectSessions: {
    title: 'Hosted connect sessions',
    description: 'Operations for the page behind a connect link. The token of the link is the credential.',
  },
  oauthApps: {
    title: 'OAuth apps',
    description:
      'The apps at Google and Microsoft that users sign in with. Without one of its own a tenant uses the operator’s.',
  },
  settings: {
    title: 'Settings',
    description: 'Defaults for every account of the tenant. An account can override some of them.',
  },
  mailboxes: { title: 'Mailboxes', description: 'Folders and labels of an account.' },
  messages: {
    title: 'Messages',
    description:
      'Lists are answered from the index. A whole message comes from stored content, or else from the ' +
      'provider.',
  },
  threads: { title: 'Threads', description: 'Messages grouped by conversation.' },
  search: { title: 'Search', description: 'Find messages by their words, in the index or at the provider.' },
  identities: {
    title: 'Identities',
    description: 'The addresses that an account may send from, with their names and signatures.',
  },
  mailSettings: { title: 'Mail settings', description: 'How an account sends by default.' },
  drafts: {
    title: 'Drafts',
    description:
      'Messages that are still being written. A draft is a message of the mailbox: other clients see and change it, ' +
      'and it is read like any other message.',
  },
  outbox: {
    title: 'Outbox',
    description:
      'Messages that are sent, from their acceptance to their end. A message is sent once: an attempt is ' +
      'repeated only if the server certainly did not accept it.',
  },
  tracking: {
    title: 'Tracking',
    description: 'Opens and clicks of messages that were sent, those of people apart from those of programs.',
  },
  templates: {
    title: 'Templates',
    description:
      'Content with variables in Handlebars, which sends, drafts and mail merges name by its `id`. A template belongs ' +
      'to an account, or is shared by the tenant.',
  },
  templateRenders: {
    title: 'Template renders',
    description: 'Try a template with values before it is sent.',
  },
  mailMerges: {
    title: 'Mail merges',
    description: 'One message to each of many recipients, queued together.',
  },
  suppressions: {
    title: 'Suppressions',
    description:
      'Lists of addresses that nothing is sent to. Every send consults the global list, and the list that it names.',
  },
  suppressionReviews: {
    title: 'Suppression reviews',
    description: 'Detected opt-outs that wait until a person decides.',
  },
  calendars: {
    title: 'Calendars',
    description: 'The calendars of an account. They are read from the index.',
  },
  calendarEvents: {
    title: 'Calendar events',
    description:
      'What takes place in the calendars of an account, read from the index: single events, and series with their ' +
      'occurrences. An occurrence that differs from its series is an exception.',
  },
  availability: {
    title: 'Availability',
    description:
      'When accounts are busy, and which slots are free for a meeting, with the reasons why others are not.',
  },
  contacts: {
    title: 'Contacts',
    description:
      'The contacts of an account, in its address books or at Google or Microsoft. They are read from the index; a ' +
      'change is made at the provider first.',
  },
  contactFolders: { title: 'Contact folders', description: 'Address books and folders of contacts.' },
  integrity: {
    title: 'Integrity',
    description: 'Whether the index holds what the provider holds, compared every day and repaired.',
  },
  changes: {
    title: 'Changes',
    description: 'Every change, made here or at the provider, in one feed without gaps or repetitions.',
  },
  webhooks: {
    title: 'Webhooks',
    description:
      'Endpoints that events are posted to, which events they receive, and the secrets that sign them.',
  },
  auditLog: {
    title: 'Audit log',
    description:
      'Changes, with their actors and times. Entries hold ids, but no content, addresses or secrets.',
  },
  usage: {
    title: 'Usage',
    description:
      'The plan of the tenant with its limits, what is used of them now, and the usage of each day.',
  },
  webhookDeliveries: {
    title: 'Webhook deliveries',
    description:
      'The attempts to post events to an endpoint, and ways to have events posted again: those of a range, one, or ' +
      'those that were given up.',
  },
}
