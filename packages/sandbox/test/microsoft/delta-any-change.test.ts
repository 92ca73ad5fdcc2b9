import { expect, test } from 'vitest'
import { wellKnownFolder } from '../../src/microsoft/mailbox/mailbox.ts'
import {
  addMessage,
  changeMessage,
  moveMessage,
  removeMessage,
} from '../../src/microsoft/mailbox/messages.ts'
import { openRandom } from '../../src/world/random.ts'
import type { User } from '../../src/world/users.ts'
import { letter } from '../letter.ts'
import { IMMUTABLE } from './client.ts'
import { useGraph } from './use-graph.ts'

const graph = useGraph()
const FOLDERS = ['inbox', 'archive', 'junkemail'] as const
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]
const STEPS = 60

/** A client that follows one folder by its delta query, and keeps what it was told. */
function follower(user: User, folder: string, headers: Record<string, string>) {
  let link = `mailFolders/${folder}/messages/delta?$select=subject,isRead`
  const known = new Map<string, boolean>()
  return {
    known,
    /** Reads one page; returns whether the round is at its end. */
    async read(): Promise<boolean> {
      const { status, data } = await graph.ask(user, 'GET', link, undefined, headers)
      expect(status).toBe(200)
      for (const item of data.value) {
        if ('@removed' in item) known.delete(item.id)
        else known.set(item.id, item.isRead)
      }
      link = data['@odata.nextLink'] ?? data['@odata.deltaLink']
      return data['@odata.deltaLink'] !== undefined
    },
  }
}

test.each(SEEDS.flatMap(seed => [true, false].map(immutable => [seed, immutable] as const)))(
  'reports every change of seed %i to a client that reads in between (immutable ids: %s)',
  async (seed, immutable) => {
    const random = openRandom(seed)
    const eva = graph.addUser('eva@office.test')
    const mailbox = graph.mailbox(eva)
    const folders = FOLDERS.map(name => wellKnownFolder(mailbox, name))
    const size = `odata.maxpagesize=${1 + random.integer(4)}`
    const headers = { prefer: immutable ? `${IMMUTABLE.prefer}, ${size}` : size }
    const followers = FOLDERS.map(name => follower(eva, name, headers))
    const anyFolder = () => folders[random.integer(folders.length)] ?? wellKnownFolder(mailbox, 'inbox')
    const add = () => {
      const receivedAt = graph.clock.now() - random.integer(1_000_000)
      const raw = letter({ Subject: `Message ${mailbox.made}` })
      addMessage(mailbox, { folder: anyFolder(), raw, fields: { receivedAt } })
    }
    const change = () => {
      const message = mailbox.ordered[random.integer(mailbox.ordered.length)]
      const lot = random.integer(5)
      if (!message || lot === 0) add()
      else if (lot === 1) removeMessage(mailbox, message)
      else if (lot < 4) moveMessage(mailbox, message, anyFolder())
      else changeMessage(mailbox, message, { isRead: !message.isRead })
    }
    for (let nth = 0; nth < 12; nth += 1) add()
    for (let step = 0; step < STEPS; step += 1) {
      change()
      if (random.integer(2) === 0) await followers[random.integer(followers.length)]?.read()
    }
    for (const [nth, { known, read }] of followers.entries()) {
      // The round under way ends, and the next one reports what changed meanwhile.
      for (let rounds = 0; rounds < 2;) if (await read()) rounds += 1
      const wanted = folders[nth]?.ordered.map(message => [
        immutable ? message.immutableId : message.id,
        message.isRead,
      ])
      expect(new Map(known)).toEqual(new Map(wanted as [string, boolean][]))
    }
  },
)
