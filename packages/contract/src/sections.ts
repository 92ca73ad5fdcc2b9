import type { contract } from './contract.ts'

interface Section {
  title: string
  description: string
}

/** What the sections of the contract are about, for the OpenAPI document. */
export const sections: Record<keyof typeof contract, Section> = {
  accounts: {
    title: 'Accounts',
    description:
      'An account is a mailbox that is followed. Connect one, watch `status` and `runtime`, pause it, delete it.',
  },
  autoconfig: {
    title: 'Finding servers',
    description: 'The servers of an address, before it is connected.',
  },
  settings: {
    title: 'Settings',
    description: 'What holds for every account of the tenant that does not say otherwise.',
  },
  mailboxes: { title: 'Mailboxes', description: 'Folders and labels of an account.' },
  messages: {
    title: 'Messages',
    description: 'Lists come from the index; a whole message from what is stored, else from the provider.',
  },
  threads: { title: 'Threads', description: 'Messages by conversation.' },
  search: { title: 'Search', description: 'Messages by their words, in the index or at the provider.' },
  changes: {
    title: 'Changes',
    description: 'Everything that happened, whoever did it, in one feed without gaps and without repetition.',
  },
}
