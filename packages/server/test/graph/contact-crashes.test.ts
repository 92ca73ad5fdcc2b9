import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { expect, test } from 'vitest'
import { waitForContacts, waitForNames } from '../contacts/carddav-account.ts'
import { useServer } from '../servers/shared-server.ts'
import { readFeed } from '../sync/followed-account.ts'
import { type KillableAccount, type Moment, openKillableGraph } from './killable-graph.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openKillableGraph())

type Operation = 'create' | 'update' | 'delete'

const METHODS = { create: 'POST', update: 'PATCH', delete: 'DELETE' } as const
/** Events of an account whose operation was carried out once. */
const EVENTS = {
  create: 'contact.created Bob',
  update: 'contact.updated Ada',
  delete: 'contact.deleted Ada',
} as const
/** The contacts that the provider has then. */
const NAMES = { create: ['Ada', 'Bob'], update: ['Ada'], delete: [] } as const

const ALL = (['create', 'update', 'delete'] as const).flatMap(operation =>
  [false, true].map(isCarriedOut => ({ operation, isCarriedOut })),
)
const WALK = casesFor(ALL, ({ isCarriedOut }) => isCarriedOut)

test(
  'a change that a kill interrupts is carried out once when it is sent again with its key',
  { timeout: 300_000 },
  async () => {
    const walk = opened()
    const { caller } = walk
    await walk.sandbox.control('PATCH', '/graph', { limits: 'off' })
    const accounts = new Map<string, KillableAccount & { adaId: string }>()
    for (const { operation, isCarriedOut } of WALK) {
      const name = `${operation}-${isCarriedOut}`
      const account = await walk.connect(`${name}@office.test`, {
        arrange: client => client.ask('POST', 'contacts', { displayName: 'Ada' }),
        settings: { contactsEnabled: true },
      })
      await waitForContacts(caller(), account.accountId)
      const [ada] = await waitForNames(caller(), account.accountId, ['Ada'])
      accounts.set(name, { ...account, adaId: ada!.id })
    }

    const send = (operation: Operation, { path, adaId, email }: KillableAccount & { adaId: string }) => {
      const key = { 'idempotency-key': `${operation}-${email.replaceAll(/\W/g, '-')}` }
      if (operation === 'create')
        return caller().post<Contact>(`${path}/contacts`, { displayName: 'Bob' }, key)
      if (operation === 'update')
        return caller().patch<Contact>(`${path}/contacts/${adaId}`, { nickname: 'Countess' }, key)
      return caller().delete<Contact | null>(`${path}/contacts/${adaId}`, undefined, key)
    }
    for (const { operation, isCarriedOut } of WALK) {
      const account = accounts.get(`${operation}-${isCarriedOut}`)!
      const moment: Moment = { method: METHODS[operation], path: '*/contacts*', isCarriedOut }
      await walk.hold(moment, () => send(operation, account))
    }
    await walk.kill()
    await walk.restart()

    for (const { operation, isCarriedOut } of WALK) {
      const name = `${operation}-${isCarriedOut}`
      const account = accounts.get(name)!
      const { status } = await send(operation, account)
      // A contact that is deleted, and of which the sync has told, is not there any more.
      expect([name, status]).toEqual([name, operation === 'delete' && status === 404 ? 404 : 200])
      await waitForNames(caller(), account.accountId, NAMES[operation])
      const there = await account.client.all('contacts?$select=displayName,nickName&$orderby=displayName')
      expect(there.map(({ displayName }) => displayName)).toEqual(NAMES[operation])
      if (operation === 'update') expect(there).toMatchObject([{ nickName: 'Countess' }])
      const { events } = await readFeed(caller())
      const told = events
        .filter(({ accountId, type }) => accountId === account.accountId && type.startsWith('contact.'))
        .map(({ type, data }) => `${type} ${(data as { contact: Contact }).contact.displayName}`)
      expect({ name, told }).toEqual({ name, told: [EVENTS[operation]] })
    }
  },
)
