import type { Faults } from '../../../test/servers/chaos-faults.ts'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import { startCyrus } from '../../../test/servers/cyrus.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { attributesOf, bytesOf } from '../../../test/servers/imap-values.ts'
import type { MailServer } from '../../../test/servers/mail-server.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld, type World } from '../../../test/servers/world.ts'
import { describe, vi } from 'vitest'
import {
  type Arrangement,
  type ChangingArrangement,
  type FollowedArrangement,
  type HeldMessage,
  requireMailbox,
  type TroubledArrangement,
} from '../conformance/arrangement.ts'
import { describeChanging, describeNumberedChanging } from '../conformance/changing.ts'
import { describeContent } from '../conformance/content.ts'
import { describeFolders, describeNumberedFolders } from '../conformance/folders.ts'
import { describeMail } from '../conformance/mail.ts'
import { openIndex } from '../conformance/memory-index.ts'
import { describeFolderSearch, describeSearch } from '../conformance/search.ts'
import { describeBrokenConnections, describeTrouble } from '../conformance/trouble.ts'
import { imapAccount } from './mail.ts'
import { decodeMailboxName } from './names.ts'
import { Suspicions } from './suspicions.ts'

type Offered = 'mail' | 'content' | 'search' | 'changing'
type Arranged = FollowedArrangement & TroubledArrangement & ChangingArrangement & Arrangement<Offered>

/** A user of the server, reached through a proxy that can make trouble. */
async function arrange(server: MailServer, { faults = {}, isDirect = false }: Kind): Promise<Arranged> {
  const user = await server.addUser()
  const world = await openWorld(server, user)
  const proxy = await startChaosProxy(
    { host: server.host, port: isDirect ? server.directPort : server.port },
    faults,
  )
  const suspicions = new Suspicions()
  // NAMESPACE shows that the prefix is none of the user's making.
  const listedAs = (mailbox: string) => (isDirect || mailbox === 'INBOX' ? mailbox : world.at(mailbox))
  const connect: Arranged['connect'] = ({ clockAheadMs = 0, ...options } = {}) =>
    imapAccount({
      endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
      login: { user: user.user, password: user.password },
      suspicions,
      signal: new AbortController().signal,
      now: () => Date.now() + clockAheadMs,
      ...options,
    })
  const numbers = (keys: readonly unknown[]) => keys.map(Number)
  return {
    world: {
      listedAs,
      deliver: (messages, mailbox = 'INBOX') => world.deliver(messages, world.at(mailbox)),
      flag: (mailbox, keys, ...flags) => world.flag(world.at(mailbox), numbers(keys), ...flags),
      move: (mailbox, keys, target) => world.move(world.at(mailbox), numbers(keys), world.at(target)),
      expunge: (mailbox, keys) => world.expunge(world.at(mailbox), numbers(keys)),
      createMailbox: mailbox => world.createMailbox(world.at(mailbox)),
      renameMailbox: (mailbox, to) => world.renameMailbox(world.at(mailbox), world.at(to)),
      deleteMailbox: mailbox => world.deleteMailbox(world.at(mailbox)),
      renumber: mailbox => world.renumber(world.at(mailbox)),
      [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
    },
    connect,
    held: mailbox => heldBy(world, world.at(mailbox)),
    async subscribed() {
      const { untagged } = await world.witness.command('LSUB "" "*"')
      const paths = untagged.map(values =>
        decodeMailboxName(String(values[3])).replaceAll(server.separator, '/'),
      )
      return paths.map(path => (isDirect ? path.slice(server.prefix.length) : path))
    },
    async index(mailbox) {
      await using account = await connect()
      const { source, key } = requireMailbox(await account.mail.listMailboxes(), listedAs(mailbox))
      const index = openIndex(source)
      await index.follow(account.mail)
      return { ...index, mailboxKey: key }
    },
    kind: 'folder',
    inbox: 'INBOX',
    unknownKey: 4_000_000,
    unknownMailbox: 'Nowhere',
    category: 'work',
    messagesOfSteps: 1100,
    poison: (keys, does) => {
      proxy.faults = { ...faults, poison: { uids: numbers(keys), does } }
    },
    sayGoodbye: () => proxy.byeAll(),
    fallSilent: () => {
      proxy.faults = { ...faults, isSilent: true }
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

/** The messages that another client sees in a mailbox. */
async function heldBy(world: World, mailbox: string): Promise<HeldMessage[]> {
  await world.uids(mailbox)
  await world.witness.command('NOOP')
  if ((await world.uids(mailbox)).length === 0) return []
  const { untagged } = await world.witness.command('UID FETCH 1:* (UID FLAGS BODY.PEEK[])')
  return untagged
    .filter(([, name]) => name === 'FETCH')
    .map(([, , list]) => {
      const found = attributesOf(list)
      const flags = found.get('FLAGS')
      return {
        key: Number(found.get('UID')),
        flags: Array.isArray(flags) ? flags.map(String) : [],
        raw: bytesOf(found.get('BODY[]'))?.toString() ?? '',
      }
    })
}

interface Kind {
  name: string
  start: () => Promise<MailServer>
  faults?: Faults
  /** Whether the connection bypasses the proxy that makes the server look poor. */
  isDirect?: boolean
}

const KINDS: Kind[] = [
  { name: 'IMAP on Dovecot', start: () => startDovecot() },
  { name: 'IMAP on a poor Dovecot', start: () => startDovecot({ flavour: 'poor' }) },
  { name: 'IMAP on a Dovecot with a prefix', start: () => startDovecot({ flavour: 'poor' }), isDirect: true },
  { name: 'IMAP on Cyrus', start: () => startCyrus() },
]

/** Each test has an account of its own, and many wait for their server, so some run at once. */
vi.setConfig({ maxConcurrency: 3 })
describe.concurrent.each(KINDS)('$name', kind => {
  const server = useServer(kind.start)
  describeMail(kind.name, () => arrange(server(), kind))
  describeFolders(kind.name, () => arrange(server(), kind))
  describeNumberedFolders(kind.name, () => arrange(server(), kind))
  describeContent(kind.name, () => arrange(server(), kind))
  describeSearch(kind.name, () => arrange(server(), kind))
  describeFolderSearch(kind.name, () => arrange(server(), kind))
  describeChanging(kind.name, () => arrange(server(), kind))
  describeNumberedChanging(kind.name, () => arrange(server(), kind))
  describeTrouble(kind.name, () => arrange(server(), kind))
  describeBrokenConnections(kind.name, () => arrange(server(), kind))
})
