import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import type { AccountIntegrity } from '@waxwing/contract/integrity/integrity.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { waitForContacts, waitForNames } from '../contacts/carddav-account.ts'
import { letter } from '../gmail/open-gmail-app.ts'
import { useServer } from '../servers/shared-server.ts'
import { readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { configurePeople } from './other-client.ts'
import { connectPeople, contactEventsOf, openPeopleApp } from './people-account.ts'

const opened = useServer(() => openPeopleApp())

const READONLY = 'https://www.googleapis.com/auth/contacts.readonly'
const named = (givenName: string, familyName?: string) => ({
  names: [{ givenName, ...(familyName && { familyName }) }],
})
const ADA = {
  ...named('Ada', 'Lovelace'),
  emailAddresses: [
    { value: 'ada@example.org', type: 'work', displayName: 'Countess' },
    { value: 'ada@example.net', type: 'study' },
  ],
  phoneNumbers: [{ value: '+44 20 7946 0001', type: 'workFax' }],
  organizations: [{ name: 'Engines', title: 'Analyst', location: 'London' }],
  birthdays: [{ date: { month: 12, day: 10 } }],
}
/** One black pixel in PNG. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
)

describe('contacts of a Gmail account', () => {
  test('are read, followed and written, and each change is announced once', async () => {
    const { app } = opened()
    const { account, client, before, path, look } = await connectPeople(opened(), [ADA])
    const { id } = account
    expect(account).toMatchObject({ provider: 'gmail', settings: { contactsEnabled: true } })

    const [ada] = await waitForNames(app, id, ['Ada Lovelace'])
    expect(ada).toMatchObject({
      folderId: null,
      givenName: 'Ada',
      emails: [
        { address: 'ada@example.org', type: 'work' },
        { address: 'ada@example.net', type: 'other' },
      ],
      phones: [{ number: '+44 20 7946 0001', type: 'fax' }],
      organization: 'Engines',
      birthday: '--12-10',
      hasPhoto: false,
    })
    expect((await app.get(`/v1/accounts/${id}/contact-folders`)).body).toEqual({ items: [] })
    const found = async (q: string) => (await app.get<{ items: Contact[] }>(`${path}?q=${q}`)).body.items
    expect([(await found('engin')).length, (await found('nobody')).length]).toEqual([1, 0])
    expect((await app.get(`${path}/${ada!.id}`)).body).toEqual(ada)

    const made = await app.post<Contact>(path, {
      displayName: 'Bob the Builder',
      phones: [{ number: '+1 5', type: 'mobile' }],
    })
    expect(made).toMatchObject({ status: 200, body: { displayName: 'Bob the Builder', folderId: null } })
    const changed = await app.patch<Contact>(`${path}/${ada!.id}`, {
      nickname: 'Countess',
      jobTitle: null,
      emails: [
        { address: 'ada@example.net', type: 'other' },
        { address: 'new@example.org', type: 'home' },
      ],
    })
    expect(changed).toMatchObject({ status: 200, body: { nickname: 'Countess', jobTitle: null } })
    const atGoogle = (await client.list()).find(one => one.resourceName === before[0]!.resourceName)
    expect(atGoogle).toMatchObject({
      nicknames: [{ value: 'Countess' }],
      // A type of the user's own stays, and so does what the interface does not show.
      emailAddresses: [
        { value: 'ada@example.net', type: 'study' },
        { value: 'new@example.org', type: 'home' },
      ],
      organizations: [{ name: 'Engines', location: 'London' }],
      phoneNumbers: [{ value: '+44 20 7946 0001', type: 'workFax' }],
    })
    expect((await app.delete(`${path}/${made.body.id}`)).status).toBe(200)

    const [cid] = await client.add(named('Cid'))
    await look()
    const [, indexed] = await waitForNames(app, id, ['Ada Lovelace', 'Cid'])
    await client.change(cid!.resourceName!, named('Cid', 'Junior'))
    await look()
    expect((await waitForNames(app, id, ['Ada Lovelace', 'Cid Junior']))[1]!.id).toBe(indexed!.id)
    await client.remove(cid!.resourceName!)
    await look()
    await waitForNames(app, id, ['Ada Lovelace'])
    expect(await contactEventsOf(opened(), id)).toEqual([
      'contacts.initialized',
      'contact.created Bob the Builder',
      'contact.updated Ada Lovelace',
      'contact.deleted Bob the Builder',
      'contact.created Cid',
      'contact.updated Cid Junior',
      'contact.deleted Cid Junior',
    ])
  })

  test('keep their ids when they are merged, renamed, and compared after an expired token', async () => {
    const { app } = opened()
    const { account, client, before, look } = await connectPeople(opened(), [
      named('Ann'),
      named('Anna'),
      named('Bob'),
    ])
    const [ann, anna, bob] = await waitForNames(app, account.id, ['Ann', 'Anna', 'Bob'])
    const [annName, annaName, bobName] = before.map(({ resourceName }) => resourceName!)

    const merged = await client.merge(annName!, annaName!)
    await look()
    const [kept] = await waitForNames(app, account.id, ['Ann', 'Bob'])
    expect(kept!.id).toBe(ann!.id)

    await client.merge(bobName!)
    await client.change(merged.resourceName!, named('Ann', 'Other'))
    await client.expire()
    await look()
    const after = await waitForNames(app, account.id, ['Ann Other', 'Bob'])
    expect(after.map(({ id }) => id)).toEqual([ann!.id, bob!.id])
    expect(await contactEventsOf(opened(), account.id)).toEqual([
      'contacts.initialized',
      'contact.deleted Anna',
      'contact.updated Ann Other',
    ])
    expect(anna!.id).not.toBe(ann!.id)
  })

  test('show a photo that another client sets, and none in place of a name', async () => {
    const { app } = opened()
    const { account, client, before, path, look } = await connectPeople(opened(), [named('Ann')])
    const [ann] = await waitForNames(app, account.id, ['Ann'])
    const photo = () =>
      fetch(`${app.address}${path}/${ann!.id}/photo`, { headers: { authorization: `Bearer ${app.key}` } })
    expect((await photo()).status).toBe(404)
    await client.setPhoto(before[0]!.resourceName!, PNG)
    await look()
    await waitUntil('the photo', async () => {
      const { body } = await app.get<Contact>(`${path}/${ann!.id}`)
      return body.hasPhoto
    })
    const shown = await photo()
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(Buffer.from(await shown.arrayBuffer())).toEqual(PNG)
  })

  test('are not undone by syncs that show an older state', async () => {
    const { app, sandbox } = opened()
    const { account, path, email, client, look } = await connectPeople(opened(), [named('Ann')])
    const [ann] = await waitForNames(app, account.id, ['Ann'])
    await configurePeople(sandbox, { syncLagSeconds: 600 })
    try {
      await app.patch(`${path}/${ann!.id}`, { nickname: 'Annie' })
      const bob = await app.post<Contact>(path, { givenName: 'Bob' })
      const gone = await app.post<Contact>(path, { givenName: 'Cid' })
      await app.delete(`${path}/${gone.body.id}`)
      // Each look reads a sync from before these changes, the second one as a whole.
      await look()
      await waitUntil('the questions about these changes', async () => {
        const { rows } = await sql`select from contact_mark where account_id = ${account.id}`.execute(app.db)
        return rows.length === 0
      })
      const { items } = await sandbox.calls({ user: email })
      await client.expire()
      await look()
      await waitUntil('the full sync', async () => {
        const { items: later } = await sandbox.calls({ user: email, after: items.at(-1)!.id })
        return later.some(
          ({ path: at, query }) =>
            at.endsWith('/connections') && !new URLSearchParams(query).has('syncToken'),
        )
      })
      await sandbox.turnClock(601)
      await configurePeople(sandbox, { syncLagSeconds: 0 })
      await client.add(named('Zoe'))
      await look()
      await waitForNames(app, account.id, ['Ann', 'Bob', 'Zoe'])
      expect((await app.get(`${path}/${ann!.id}`)).body).toMatchObject({ nickname: 'Annie' })
      expect((await app.get(`${path}/${bob.body.id}`)).status).toBe(200)
      expect(await contactEventsOf(opened(), account.id)).toEqual([
        'contacts.initialized',
        'contact.updated Ann',
        'contact.created Bob',
        'contact.created Cid',
        'contact.deleted Cid',
        'contact.created Zoe',
      ])
    } finally {
      await configurePeople(sandbox, { syncLagSeconds: 0 })
    }
  })

  test('are compared with Google, and repaired where the index differs', async () => {
    const { app } = opened()
    const { account, path } = await connectPeople(opened(), [named('Ann'), named('Bob'), named('Cid')])
    const { id } = account
    const [ann] = await waitForNames(app, id, ['Ann', 'Bob', 'Cid'])
    const where = (name: string) => sql`account_id = ${id} and display_name = ${name}`
    await sql`update contact set version = 'another', display_name = 'Eve' where ${where('Ann')}`.execute(
      app.db,
    )
    await sql`delete from contact where ${where('Bob')}`.execute(app.db)
    await sql`update contact set provider_key = 'people/c1', uid = null where ${where('Cid')}`.execute(app.db)
    // Cid is missing under his own name, and there is one contact too many under the other.
    await app.get(`/v1/accounts/${id}/integrity?refresh=true`)
    await waitForNames(app, id, ['Ann', 'Bob', 'Cid'])
    expect((await app.get<Contact>(`${path}/${ann!.id}`)).body.displayName).toBe('Ann')
    const compared = await waitUntil('a comparison without differences', async () => {
      const { body } = await app.get<AccountIntegrity>(`/v1/accounts/${id}/integrity`)
      return body.contactFolders?.every(
        ({ comparedAt, missing, extra, changed }) => comparedAt && missing + extra + changed === 0,
      )
        ? body.contactFolders
        : null
    })
    expect(compared).toMatchObject([{ folderId: null, listed: 3, indexed: 3, repaired: 4 }])
  })

  test('that the grant only reads are followed, and refuse changes', async () => {
    const { app } = opened()
    const { account, path } = await connectPeople(opened(), [named('Ann')], [READONLY])
    const [ann] = await waitForNames(app, account.id, ['Ann'])
    const refused = { status: 400, body: { code: 'scope_missing' } }
    expect(await app.patch(`${path}/${ann!.id}`, { nickname: 'Annie' })).toMatchObject(refused)
    expect(await app.post(path, { givenName: 'Bob' })).toMatchObject(refused)
  })

  test('fail alone while Google refuses them, and go on by themselves', async () => {
    const { app, sandbox } = opened()
    const { account, client, path, email, look } = await connectPeople(opened(), [named('Ann')])
    await waitForNames(app, account.id, ['Ann'])
    const host = 'people.googleapis.com'
    await sandbox.addFault({ does: 'unauthorized', host })
    await client.add(named('Bob'))
    await look()
    await waitUntil('the refusal', async () => {
      const { items } = await sandbox.calls({ host })
      return items.some(({ fault }) => fault === 'unauthorized')
    })
    await sandbox.deliver(email, letter('While contacts fail').replaceAll(/\r?\n/g, '\r\n'))
    await waitUntil('the message', async () =>
      (await readMessages(app, account.id)).some(({ subject }) => subject === 'While contacts fail'),
    )
    expect((await app.get<Account>(`/v1/accounts/${account.id}`)).body.status).toBe('active')
    expect((await app.get(path)).status).toBe(200)
    await sandbox.clearFaults()
    await look()
    await waitForNames(app, account.id, ['Ann', 'Bob'])
  })

  test('are created once by a request that is sent again after its answer was lost', async () => {
    const { app, sandbox } = opened()
    const { account, client, path } = await connectPeople(opened())
    const key = { 'idempotency-key': `people-${account.id}` }
    await sandbox.addFault({ does: 'lost', path: '/v1/people:createContact', count: 1 })
    const lost = await app.post(path, { givenName: 'Ann' }, key)
    expect(lost.status).toBe(502)
    const again = await app.post<Contact>(path, { givenName: 'Ann' }, key)
    expect(again).toMatchObject({ status: 200, body: { displayName: 'Ann' } })
    expect(await client.list()).toHaveLength(1)
    await waitForNames(app, account.id, ['Ann'])
  })

  test('of a project that has not enabled the API are the problem of their half alone', async () => {
    const { app, sandbox } = opened()
    const { account, path, look } = await connectPeople(opened(), [named('Ann')])
    await waitForNames(app, account.id, ['Ann'])
    await configurePeople(sandbox, { enabled: false })
    try {
      await look()
      const created = await app.post(path, { givenName: 'Bob' })
      expect(created).toMatchObject({ status: 409, body: { code: 'account_misconfigured' } })
      expect((await app.get<Account>(`/v1/accounts/${account.id}`)).body.status).toBe('active')
    } finally {
      await configurePeople(sandbox, { enabled: true })
    }
    await look()
    await waitForContacts(app, account.id)
  })
})
