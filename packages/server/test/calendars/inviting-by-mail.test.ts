import { expect, test } from 'vitest'
import { startDovecot } from '../servers/dovecot.ts'
import { startPostfix } from '../servers/postfix.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { expectEqualCalendars } from '../sync/compare-now.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { countQueued } from './arrived-invitations.ts'
import { inviteAndAnswer } from './inviting.ts'
import { connectPerson, untilQuiet } from './people.ts'

const opened = useServer(() => openSyncApp({ roles: ['api', 'sync', 'jobs'] }))
const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

test('two people whose server sends no invitations are told of everything by one mail each', async () => {
  const app = opened()
  await using postfix = await startPostfix(dovecot())
  const connect = async (name: string) =>
    connectPerson(app, name, {
      mail: dovecot(),
      user: await dovecot().addUser(),
      dav: radicale(),
      davUser: await radicale().addUser(),
      smtp: postfix,
    })
  const [alice, bob] = [await connect('Alice'), await connect('Bob')]
  await inviteAndAnswer(alice, bob)
  await untilQuiet(app)
  const requests = ['REQUEST', 'REQUEST', 'REQUEST', 'REQUEST']
  expect(await bob.mails()).toEqual(['CANCEL', 'CANCEL', ...requests])
  expect(await alice.mails()).toEqual(['REPLY', 'REPLY', 'REPLY', 'REPLY'])
  expect(await countQueued(app.db, alice.accountId)).toBe(6)
  expect(await countQueued(app.db, bob.accountId)).toBe(4)
  for (const { accountId } of [alice, bob]) await expectEqualCalendars(app, accountId)
})
