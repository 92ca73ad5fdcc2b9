import type { Faults } from '../../../test/servers/chaos-faults.ts'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import { startCyrus } from '../../../test/servers/cyrus.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import type { MailServer } from '../../../test/servers/mail-server.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { openWorld } from '../../../test/servers/world.ts'
import { describe } from 'vitest'
import type { MailArrangement } from '../conformance/arrangement.ts'
import { describeMailProvider } from '../conformance/mail.ts'
import { imapMail } from './mail.ts'
import { Suspicions } from './suspicions.ts'

/** A user of the server, reached through a proxy that can make trouble. */
async function arrange(
  server: MailServer,
  { faults = {}, isDirect = false }: Kind,
): Promise<MailArrangement> {
  const user = await server.addUser()
  const world = await openWorld(server, user)
  const proxy = await startChaosProxy(
    { host: server.host, port: isDirect ? server.directPort : server.port },
    faults,
  )
  const suspicions = new Suspicions()
  const numbers = (keys: readonly unknown[]) => keys.map(Number)
  return {
    world: {
      // With NAMESPACE the prefix is known to be none of the user's making.
      listedAs: mailbox => (isDirect ? mailbox : world.at(mailbox)),
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
    connect: ({ clockAheadMs = 0, ...options } = {}) =>
      imapMail({
        endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
        login: { user: user.user, password: user.password },
        suspicions,
        signal: new AbortController().signal,
        now: () => Date.now() + clockAheadMs,
        ...options,
      }),
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

interface Kind {
  name: string
  start: () => Promise<MailServer>
  faults?: Faults
  /** Whether what makes the server look poor is passed by. */
  isDirect?: boolean
}

const KINDS: Kind[] = [
  { name: 'IMAP on Dovecot', start: () => startDovecot() },
  { name: 'IMAP on a poor Dovecot', start: () => startDovecot({ flavour: 'poor' }) },
  { name: 'IMAP on a Dovecot with a prefix', start: () => startDovecot({ flavour: 'poor' }), isDirect: true },
  { name: 'IMAP on Cyrus', start: () => startCyrus() },
]

describe.each(KINDS)('$name', kind => {
  const server = useServer(kind.start)
  describeMailProvider(kind.name, () => arrange(server(), kind))
})
