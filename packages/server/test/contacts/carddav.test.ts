import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { describe, expect, test } from 'vitest'
import { tablesWith } from '../database-text.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { openSyncApp, readFeed } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { readContacts, waitForContacts, waitForNames } from './carddav-account.ts'

const opened = useServer(() => openSyncApp())
const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

const card = (uid: string, name: string, lines: readonly string[] = []) =>
  ['BEGIN:VCARD', 'VERSION:3.0', `UID:${uid}`, `FN:${name}`, `N:${name};;;;`, ...lines, 'END:VCARD', ''].join(
    '\r\n',
  )

/** A mailbox with an address book, both with their users. */
async function arrange() {
  const user = await dovecot().addUser()
  const davUser = await radicale().addUser()
  const client = davTestClient(radicale(), davUser)
  const book = await client.makeBook('people', 'People')
  const connection = connectionWithDav(dovecot(), user, { dav: radicale(), davUser, half: 'contactsUrl' })
  return { user, davUser, client, book, connection }
}

async function connect(connection: Record<string, unknown>) {
  const { status, body } = await opened().post<Account>('/v1/imap-accounts', connection)
  expect({ status, body }).toMatchObject({ status: 200 })
  return { account: body, path: `/v1/accounts/${body.id}/contacts` }
}

/** The types of the contacts' events of an account, and the names in them. */
async function eventsOf(accountId: string): Promise<string[]> {
  const { events } = await readFeed(opened())
  return events.flatMap(event => {
    if (event.accountId !== accountId || !event.type.startsWith('contact')) return []
    const { contact } = event.data
    return [`${event.type} ${contact?.displayName ?? ''}`.trim()]
  })
}

const lookAgain = (accountId: string) =>
  opened().post(`/v1/accounts/${accountId}/sync`, { kinds: ['contacts'] })

describe('contacts of an IMAP account with a CardDAV server', () => {
  test('are read, followed and written, and each change is announced once', async () => {
    const { client, book, connection, davUser } = await arrange()
    await client.put(
      `${book}ada.vcf`,
      card('ada', 'Ada', ['EMAIL;TYPE=work:ada@example.org', 'X-KEPT:as it is']),
    )

    const { account, path } = await connect(connection)
    const { id } = account
    expect(account).toMatchObject({
      settings: { contactsEnabled: true, calendarEnabled: false },
      imap: { dav: { calendarUrl: null, auth: 'password' } },
    })
    await waitForContacts(opened(), id)
    const [ada] = await waitForNames(opened(), id, ['Ada'])
    expect(ada).toMatchObject({ emails: [{ address: 'ada@example.org', type: 'work' }] })
    expect((await opened().get(`/v1/accounts/${id}/contact-folders`)).body).toMatchObject({
      items: [{ id: ada!.folderId, name: 'People', isDefault: true }],
    })

    const made = await opened().post<Contact>(path, {
      displayName: 'Bob',
      phones: [{ number: '+1 5', type: 'mobile' }],
    })
    expect(made).toMatchObject({ status: 200, body: { displayName: 'Bob', folderId: ada!.folderId } })
    await waitForNames(opened(), id, ['Ada', 'Bob'])
    const changed = await opened().patch<Contact>(`${path}/${ada!.id}`, { nickname: 'Countess' })
    expect(changed).toMatchObject({ status: 200, body: { nickname: 'Countess', displayName: 'Ada' } })
    expect(await client.get(`${book}ada.vcf`)).toMatch(/X-KEPT:as it is/)
    expect(await client.get(`${book}ada.vcf`)).toMatch(/NICKNAME:Countess/)
    expect((await opened().delete(`${path}/${made.body.id}`)).status).toBe(200)

    await client.put(`${book}cid.vcf`, card('cid', 'Cid'))
    await lookAgain(id)
    const [, cid] = await waitForNames(opened(), id, ['Ada', 'Cid'])
    await client.put(`${book}cid.vcf`, card('cid', 'Cid the Second'))
    await lookAgain(id)
    expect((await waitForNames(opened(), id, ['Ada', 'Cid the Second']))[1]!.id).toBe(cid!.id)
    await client.remove(`${book}cid.vcf`)
    await lookAgain(id)
    await waitForNames(opened(), id, ['Ada'])

    expect(await eventsOf(id)).toEqual([
      'contacts.initialized',
      'contact.created Bob',
      'contact.updated Ada',
      'contact.deleted Bob',
      'contact.created Cid',
      'contact.updated Cid the Second',
      'contact.deleted Cid the Second',
    ])
    expect(await tablesWith(opened().db, davUser.password)).toEqual([])
    expect(opened().logLines.join('')).not.toContain(davUser.password)
  })

  test('leave the index when the server is removed, and come back under new ids', async () => {
    const { client, book, connection } = await arrange()
    await client.put(`${book}ada.vcf`, card('ada', 'Ada'))
    const { account, path } = await connect(connection)
    await waitForContacts(opened(), account.id)
    const [before] = await waitForNames(opened(), account.id, ['Ada'])
    const settings = `/v1/accounts/${account.id}/imap-settings`

    const removed = await opened().patch<Account>(settings, { dav: null })
    expect(removed).toMatchObject({
      status: 200,
      body: { imap: { dav: null }, settings: { contactsEnabled: false } },
    })
    expect(await opened().get(path)).toMatchObject({ status: 409, body: { code: 'contacts_disabled' } })
    await waitUntil('the deletion', async () => (await eventsOf(account.id)).includes('contact.deleted Ada'))
    await waitUntil('the end of the half', async () => {
      const { body } = await opened().get<Account>(`/v1/accounts/${account.id}`)
      return body.contactsInitializedAt === null
    })

    const { dav } = connection
    expect(await opened().patch(settings, { dav })).toMatchObject({ status: 200 })
    await waitForContacts(opened(), account.id)
    const [after] = await waitForNames(opened(), account.id, ['Ada'])
    expect(after!.id).not.toBe(before!.id)
    expect(await eventsOf(account.id)).toEqual([
      'contacts.initialized',
      'contact.deleted Ada',
      'contacts.initialized',
    ])
  })

  test('are found by the host of the IMAP server if no address is given, or are refused', async () => {
    const { connection } = await arrange()
    const refused = async (dav: Record<string, unknown>) => {
      const { status, body } = await opened().post('/v1/imap-accounts', { ...connection, dav })
      return [status, body['code']]
    }
    expect(await refused({ contactsUrl: null, calendarUrl: null })).toEqual([400, 'invalid_input'])
    expect(await refused({ contactsUrl: 'ftp://x/' })).toEqual([400, 'invalid_input'])
    expect(await refused({ contactsUrl: 'https://ada:secret@dav.example.org/' })).toEqual([
      400,
      'invalid_input',
    ])
    expect(await refused({ auth: 'password' })).toEqual([400, 'invalid_input'])
    expect(await refused({ auth: 'imap_password', password: 'x' })).toEqual([400, 'invalid_input'])
    const at = (url: string, password = 'x') => refused({ contactsUrl: url, calendarUrl: null, password })
    expect(await at(radicale().url.href)).toEqual([400, 'login_failed'])
    expect(await at('http://10.1.2.3/')).toEqual([400, 'server_not_allowed'])
    expect(await refused({})).toEqual([400, 'dav_discovery_failed'])
    expect((await opened().get<{ items: Account[] }>('/v1/accounts?q=nobody')).body.items).toEqual([])
  })

  test('with a stored password go to another domain only if it is sent again', async () => {
    const { connection } = await arrange()
    const { account } = await connect(connection)
    const settings = `/v1/accounts/${account.id}/imap-settings`
    const contactsUrl = 'http://localhost:1/'
    expect(await opened().patch(settings, { dav: { contactsUrl } })).toMatchObject({
      status: 400,
      body: { code: 'password_required' },
    })
    expect(await readContacts(opened(), account.id)).toEqual([])
  })
})
