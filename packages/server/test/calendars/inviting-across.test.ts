import { expect, test } from 'vitest'
import { startCyrusWithDav } from '../servers/cyrus.ts'
import { davOf } from '../servers/cyrus-dav.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startPostfix } from '../servers/postfix.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { openTcpDoor } from '../servers/tcp-door.ts'
import { SOAK } from '../soak.ts'
import { expectEqualCalendars } from '../sync/compare-now.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { countQueued } from './arrived-invitations.ts'
import { inviteAndAnswer } from './inviting.ts'
import { connectPerson, type Person, untilQuiet } from './people.ts'

const opened = useServer(() =>
  openSyncApp({ roles: ['api', 'sync', 'jobs'], config: { invitations: 'all' } }),
)
/** Cyrus mails through Postfix, which delivers to Cyrus. */
const servers = useServer(async () => {
  await using stack = new AsyncDisposableStack()
  const door = stack.use(await openTcpDoor())
  const dovecot = stack.use(await startDovecot())
  const login = await dovecot.addUser('cyrus')
  const cyrus = stack.use(await startCyrusWithDav({ smtpPort: door.port, login }))
  const postfix = stack.use(await startPostfix(dovecot, { beside: [cyrus] }))
  door.leadTo(postfix.port)
  const owned = stack.move()
  return { dovecot, cyrus, postfix, [Symbol.asyncDispose]: () => owned.disposeAsync() }
})
const radicale = useServer(startRadicale)

/** Alice, whose invitations the service mails, and Bob, whose server does that. */
async function connectBoth(): Promise<[alice: Person, bob: Person]> {
  const { dovecot, cyrus, postfix } = servers()
  const alice = await connectPerson(opened(), 'Alice', {
    mail: dovecot,
    user: await dovecot.addUser(),
    dav: radicale(),
    davUser: await radicale().addUser(),
    smtp: postfix,
  })
  const davUser = await davOf(cyrus).addUser()
  const bob = await connectPerson(opened(), 'Bob', {
    mail: cyrus,
    user: davUser,
    dav: davOf(cyrus),
    davUser,
    smtp: null,
  })
  return [alice, bob]
}

test(
  'a person whose invitations are mailed invites one whose server takes them from mail',
  SOAK,
  async () => {
    const [alice, bob] = await connectBoth()
    await inviteAndAnswer(alice, bob)
    await untilQuiet(opened())
    expect(await alice.mails()).toEqual(['REPLY', 'REPLY', 'REPLY', 'REPLY'])
    expect(await bob.mails()).toEqual(['CANCEL', 'CANCEL', 'REQUEST', 'REQUEST', 'REQUEST', 'REQUEST'])
    expect(await countQueued(opened().db, alice.accountId)).toBe(6)
    expect(await countQueued(opened().db, bob.accountId)).toBe(0)
    for (const { accountId } of [alice, bob]) await expectEqualCalendars(opened(), accountId)
  },
)

test('a person whose server mails invitations invites one whose mail is read', SOAK, async () => {
  const [alice, bob] = await connectBoth()
  await inviteAndAnswer(bob, alice)
  await untilQuiet(opened())
  // Cyrus sends the series anew if an occurrence is deleted.
  expect(await alice.mails()).toEqual(['CANCEL', 'REQUEST', 'REQUEST', 'REQUEST', 'REQUEST', 'REQUEST'])
  expect(await bob.mails()).toEqual(['REPLY', 'REPLY', 'REPLY', 'REPLY'])
  expect(await countQueued(opened().db, alice.accountId)).toBe(4)
  expect(await countQueued(opened().db, bob.accountId)).toBe(0)
  for (const { accountId } of [alice, bob]) await expectEqualCalendars(opened(), accountId)
})
