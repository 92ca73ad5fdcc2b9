import { presentId } from '../mailbox/history.ts'
import { COMPOSE, METADATA_READERS, type GmailMethod } from './method.ts'
import { SHAPES } from './shapes.ts'

export const profileMethods: readonly GmailMethod[] = [
  {
    id: 'getProfile',
    http: 'GET',
    path: 'profile',
    scopes: [...METADATA_READERS, COMPOSE],
    answer: SHAPES.profile,
    run: ({ mailbox }) => ({
      emailAddress: mailbox.email,
      messagesTotal: mailbox.messages.size,
      threadsTotal: mailbox.threads.size,
      historyId: presentId(mailbox.history),
    }),
  },
]
