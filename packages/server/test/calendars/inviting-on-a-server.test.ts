import { describe, expect, test } from 'vitest'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { startDavical } from '../servers/davical.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startPostfix } from '../servers/postfix.ts'
import { useServer } from '../servers/shared-server.ts'
import { casesFor } from '../soak.ts'
import { expectEqualCalendars } from '../sync/compare-now.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { countQueued } from './arrived-invitations.ts'
import { inviteAndAnswer } from './inviting.ts'
import { connectPerson } from './people.ts'

const opened = useServer(() => openSyncApp({ roles: ['api', 'sync', 'jobs'] }))

const SCHEDULERS = [
  { name: 'Cyrus', domain: 'cyrus.test', start: startCyrusDav, changesOccurrences: true },
  // DAViCal 1.1.12 fails at a second component that names an attendee, and delivers no EXDATE.
  { name: 'DAViCal', domain: 'dav.test', start: startDavical, changesOccurrences: false },
]

describe.each(casesFor(SCHEDULERS, ({ name }) => name === 'Cyrus'))(
  'two people on $name, which sends invitations itself,',
  ({ domain, start, changesOccurrences }) => {
    const dav = useServer(start)
    const dovecot = useServer(() => startDovecot({ domain }))

    test('have what the other one did, and nobody gets a mail beside it', async () => {
      const app = opened()
      await using postfix = await startPostfix(dovecot())
      const connect = async (name: string) => {
        const davUser = await dav().addUser()
        const user = await dovecot().addUser(davUser.user)
        return connectPerson(app, name, { mail: dovecot(), user, dav: dav(), davUser, smtp: postfix })
      }
      const [alice, bob] = [await connect('Alice'), await connect('Bob')]
      expect([alice.email, bob.email].every(email => email.endsWith(`@${domain}`))).toBe(true)
      await inviteAndAnswer(alice, bob, { changesOccurrences })
      for (const person of [alice, bob]) {
        expect(await countQueued(app.db, person.accountId)).toBe(0)
        expect(await person.mails()).toEqual([])
        await expectEqualCalendars(app, person.accountId)
      }
    })
  },
)
