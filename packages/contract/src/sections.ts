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
  autoconfig: {
    title: 'Finding servers',
    description: 'Find the mail servers of an address before you connect it.',
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
  changes: {
    title: 'Changes',
    description: 'Every change, made here or at the provider, in one feed without gaps or repetitions.',
  },
}
