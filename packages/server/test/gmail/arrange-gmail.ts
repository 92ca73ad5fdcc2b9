import { newId } from '../../src/kit/ids.ts'
import type { Capability, Offering } from '../../src/providers/connected-account.ts'
import type {
  Arrangement,
  ConnectOptions,
  FollowedArrangement,
} from '../../src/providers/conformance/arrangement.ts'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import { SOURCE } from '../../src/providers/gmail/labels.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { type GmailClient, openGmailClient } from './gmail-client.ts'
import { reachSandbox } from './reach-sandbox.ts'

/** A mailbox of the sandbox's Gmail, and another client of it. */
export interface GmailArrangement extends FollowedArrangement, Arrangement<'mail' | 'content' | 'search'> {
  client: GmailClient
  connect(
    options?: ConnectOptions,
  ): Promise<Offering<Exclude<Capability, 'sharing' | 'contacts' | 'calendars'>>>
}

const HOST = 'gmail.googleapis.com'
const unplayed = () => Promise.reject(new Error('Gmail has no such thing'))

/** The labels that stand for flags, `\Seen` and `\Flagged`, and for categories. */
function labelsOf(flags: readonly string[]): { add: string[]; remove: string[] } {
  const add = flags.filter(flag => flag !== '\\Seen')
  return {
    add: add.map(flag => (flag === '\\Flagged' ? 'STARRED' : `CATEGORY_${flag.toUpperCase()}`)),
    remove: flags.includes('\\Seen') ? ['UNREAD'] : [],
  }
}

export async function arrangeGmail(server: SandboxServer): Promise<GmailArrangement> {
  const email = `${newId()}@gmail.test`
  await server.addUser(email)
  const client = await openGmailClient(server, email)
  const reached = await reachSandbox(server, email)
  const labels = new Map([['INBOX', 'INBOX']])
  const labelOf = (mailbox: string) => labels.get(mailbox)!
  return {
    client,
    kind: 'label',
    inbox: SOURCE,
    category: 'social',
    messagesOfSteps: 250,
    world: {
      listedAs: mailbox => mailbox,
      async deliver(messages, mailbox = 'INBOX') {
        const keys: string[] = []
        for (const { raw, internalDate } of messages)
          keys.push((await client.insert(raw, [labelOf(mailbox), 'UNREAD'], internalDate)).id)
        return keys
      },
      async flag(_, keys, ...flags) {
        for (const key of keys) await client.modify(String(key), labelsOf(flags))
      },
      async move(mailbox, keys, target) {
        const change = { add: [labelOf(target)], remove: [labelOf(mailbox)] }
        for (const key of keys) await client.modify(String(key), change)
      },
      async expunge(_, keys) {
        for (const key of keys) await client.delete(String(key))
      },
      createMailbox: async mailbox => void labels.set(mailbox, await client.createLabel(mailbox)),
      renameMailbox: (mailbox, to) => client.renameLabel(labelOf(mailbox), to),
      deleteMailbox: mailbox => client.deleteLabel(labelOf(mailbox)),
      renumber: unplayed,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    connect: ({ clockAheadMs = 0 } = {}) =>
      Promise.resolve(reached.connect({ now: () => Date.now() + clockAheadMs })),
    async index(mailbox) {
      const index = openIndex(SOURCE)
      await using account = reached.connect()
      await index.follow(account.mail)
      return { ...index, mailboxKey: labelOf(mailbox) }
    },
    async poison(keys, does) {
      if (does !== 'refuse') throw new Error(`The sandbox does not ${does} the answer for a message`)
      for (const key of keys)
        await server.addFault({ does: 'error', host: HOST, path: `/gmail/v1/users/me/messages/${key}` })
    },
    async [Symbol.asyncDispose]() {
      await server.clearFaults()
      await reached[Symbol.asyncDispose]()
    },
  }
}
