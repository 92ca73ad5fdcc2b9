import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type OddDav, type Oddities, startOddDav } from '../../../test/servers/odd-dav.ts'
import { cardOf, openOddAccount } from '../../../test/servers/odd-dav-account.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { never } from '../conformance/arrangement.ts'
import { type ContactFields, NO_FIELDS } from '../contacts.ts'

/** Changes, deletes and adds a card as another client does. */
function disturb(dav: OddDav): void {
  dav.now += 5_000
  dav.put('a.vcf', cardOf('changed'))
  dav.remove('b.vcf')
  dav.put('d.vcf', cardOf('d'))
}

const ALL: ReadonlyArray<readonly [string, Oddities]> = [
  ['nothing odd', {}],
  ['Digest by MD5 only', { digest: { algorithm: 'MD5', usesMax: 3 } }],
  ['Digest by SHA-256 only', { digest: { algorithm: 'SHA-256', usesMax: 100 } }],
  ['tokens answered with 415', { tokenStatus: 415 }],
  ['tokens answered with 500', { tokenStatus: 500 }],
  ['tokens answered with 404', { tokenStatus: 404 }],
  ['tags only', { tokenStatus: null }],
  ['neither tokens nor tags', { tokenStatus: null, lacksCtag: true }],
  ['weak ETags', { etags: 'weak', tokenStatus: null }],
  ['seconds as ETags', { etags: 'seconds', tokenStatus: null }],
  ['no ETags', { etags: 'none', tokenStatus: null }],
  ['no ETags, but tokens', { etags: 'none' }],
  ['rewritten cards', { rewrites: true }],
  ['absolute hrefs', { hrefs: 'absolute' }],
  ['hrefs of another encoding', { hrefs: 'encoded' }],
  ['hrefs with a last slash', { hrefs: 'last_slash' }],
  ['two members at a time', { membersMax: 2 }],
  ['no multiget', { multiget: 'missing' }],
  ['a multiget that leaves out cards', { multiget: 'forgetful' }],
]

test.concurrent.each(ALL)('follows and changes contacts on a server with %s', async (_, oddities) => {
  await using opened = await openOddAccount(oddities)
  const { dav, contacts, index } = opened
  await index.follow(contacts)
  expect(index.names()).toEqual(['a', 'b', 'c'])

  disturb(dav)
  const changed = await contacts.findChanged([{ folder: index.folder, cursor: index.cursor }], never)
  expect([...changed]).toEqual([index.folder.key])
  await index.follow(contacts)
  expect(index.names()).toEqual(['c', 'changed', 'd'])
  await index.follow(contacts)
  expect(index.names()).toEqual(['c', 'changed', 'd'])

  dav.now += 5_000
  const [key] = index.contacts.keys()
  const written = await contacts.change(key!, { notes: 'of us' })
  expect(written.fields.notes).toBe('of us')
  const creationId = randomUUID()
  const fields = { displayName: 'new', emails: [], phones: [] } as unknown as ContactFields
  const created = await contacts.create({ folderKey: null, fields, creationId, mayExist: false })
  expect(dav.files.get(`${creationId}.vcf`)?.text.includes('X-REWRITTEN')).toBe(oddities.rewrites === true)
  await contacts.remove([...index.contacts.keys()][1]!)
  await index.follow(contacts)
  expect(index.contacts.get(created.key)).toEqual(created)
  expect(index.contacts.get(key!)).toEqual(written)
  expect(index.contacts.size).toBe(3)
})

test('asks a server with tokens one question if nothing has changed', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts, index } = opened
  await index.follow(contacts)
  dav.requests.length = 0

  expect(await contacts.findChanged([{ folder: index.folder, cursor: index.cursor }], never)).toEqual(
    new Set(),
  )

  expect(dav.requests).toEqual(['PROPFIND /home/ada/'])
})

test('notices a second change in the same second, if ETags are seconds', async () => {
  await using opened = await openOddAccount({ etags: 'seconds', tokenStatus: null, lacksCtag: true })
  const { dav, contacts, index } = opened
  await index.follow(contacts)

  dav.put('a.vcf', cardOf('changed at once'))
  await index.follow(contacts)

  expect(index.names()).toEqual(['b', 'c', 'changed at once'])
})

test('asks twice before it believes that a book is empty', async () => {
  await using opened = await openOddAccount({ tokenStatus: null })
  const { dav, contacts, index } = opened
  await index.follow(contacts)

  index.cursor = null
  dav.oddities.emptyListings = 1
  await index.follow(contacts)
  expect(index.names()).toEqual(['a', 'b', 'c'])
  index.cursor = null
  dav.oddities.emptyListings = 2
  await index.follow(contacts)
  expect(index.names()).toEqual([])
})

test('deletes nothing because of a listing that leaves out members', async () => {
  await using opened = await openOddAccount({ tokenStatus: null })
  const { dav, contacts, index } = opened
  await index.follow(contacts)

  dav.oddities.membersMax = 1
  dav.remove('c.vcf')
  await index.follow(contacts)

  expect(index.names()).toEqual(['a', 'b', 'c'])
  await expect(Array.fromAsync(contacts.list(index.folder, never))).rejects.toMatchObject({
    kind: 'unavailable',
  })
})

test.each(['other_host', 'other_user'] as const)('ignores members with hrefs of %s', async hrefs => {
  await using opened = await openOddAccount({ hrefs })
  const { dav, contacts, index } = opened

  await index.follow(contacts)

  expect(index.names()).toEqual([])
  expect(dav.requests.filter(request => request.includes('eve'))).toEqual([])
})

test('refuses keys outside the home of the account', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  const foreign = '/home/eve/people/a.vcf'
  dav.requests.length = 0

  for (const ask of [
    () => contacts.change(foreign, { notes: 'x' }),
    () => contacts.remove(foreign),
    () => contacts.remove('/home/ada/../eve/people/a.vcf'),
    () => contacts.readPhoto(foreign, never),
  ])
    await expect(ask()).rejects.toMatchObject({ kind: 'not_found' })
  expect(await contacts.read([foreign])).toMatchObject({ contacts: [], unreadable: [] })
  await expect(contacts.remove('/home/ada/people')).rejects.toMatchObject({ kind: 'rejected' })

  expect(dav.requests).toEqual(['PROPFIND /home/ada/people'])
})

test('applies a change again three times while another client is faster, and then reports a conflict', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts, index } = opened
  await index.follow(contacts)
  let count = 0
  dav.overtake = () => dav.put('a.vcf', cardOf(`another ${++count}`))

  await expect(contacts.change(`${index.folder.key}/a.vcf`, { notes: 'x' })).rejects.toMatchObject({
    kind: 'conflict',
    isBeforeAcceptance: true,
  })
  expect(count).toBe(4)
  dav.overtake = () => {
    if (++count < 6) dav.put('a.vcf', cardOf(`another ${count}`))
  }
  const changed = await contacts.change(`${index.folder.key}/a.vcf`, { notes: 'x' })
  expect(changed.fields).toMatchObject({ displayName: 'another 5', notes: 'x' })
})

test('asks for no tag and no token of a book before it writes a card, for which a server may read all cards', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts, index } = opened
  const before = dav.bodies.length
  const fields = { ...NO_FIELDS, displayName: 'new' }
  await contacts.create({
    folderKey: index.folder.key,
    fields,
    creationId: randomUUID(),
    mayExist: false,
  })
  const asked = dav.bodies.slice(before).join()
  expect(asked).toContain('resourcetype')
  expect(asked).not.toMatch(/getctag|sync-token/)
})

test('finds the card of an earlier try, and leaves one of another UID alone', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts } = opened
  const [ours, other] = [randomUUID(), randomUUID()]
  dav.put(`${ours}.vcf`, cardOf(ours))
  dav.put(`${other}.vcf`, cardOf('of somebody else'))
  const create = (creationId: string, mayExist: boolean) =>
    contacts.create({
      folderKey: null,
      fields: { displayName: 'new', emails: [], phones: [] } as unknown as ContactFields,
      creationId,
      mayExist,
    })

  for (const mayExist of [true, false]) expect((await create(ours, mayExist)).fields.displayName).toBe(ours)
  for (const mayExist of [true, false])
    await expect(create(other, mayExist)).rejects.toMatchObject({ kind: 'conflict' })
})

test('leaves out groups, and reports cards that cannot be read with their version', async () => {
  await using opened = await openOddAccount({}, ['a'])
  const { dav, contacts, index } = opened
  dav.put('group.vcf', cardOf('group', 'KIND:group\r\n'))
  dav.put('bad.vcf', 'this is no card')
  dav.put('large.vcf', cardOf('large', `NOTE:${'x'.repeat(7 * 1024 * 1024)}\r\n`))

  await index.follow(contacts)

  expect(index.names()).toEqual(['a'])
  const unreadable = [...index.unreadable].map(([key, version]) => [key.split('/').at(-1), version])
  expect(unreadable.toSorted()).toEqual([
    ['bad.vcf', dav.files.get('bad.vcf')?.etag],
    ['large.vcf', dav.files.get('large.vcf')?.etag],
  ])
  const requests = dav.requests.length
  index.cursor = null
  await index.follow(contacts)
  // The book, its listing, and the group, whose version the index does not hold.
  expect(dav.requests.slice(requests)).toHaveLength(3)
  dav.put('a.vcf', cardOf('a', 'KIND:group\r\n'))
  await index.follow(contacts)
  expect(index.names()).toEqual([])
})

test('reports a pause that the server asks for, and tries no other way then', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts, index } = opened
  await index.follow(contacts)
  dav.put('a.vcf', cardOf('changed'))
  dav.oddities.answers = (_, response) => {
    response.writeHead(503, { 'retry-after': '90' }).end()
    return true
  }
  dav.requests.length = 0

  await expect(index.follow(contacts)).rejects.toMatchObject({ kind: 'throttled', retryAfterSeconds: 90 })

  expect(dav.requests).toHaveLength(1)
})

test('holds no connection a few seconds after its last request', async () => {
  await using opened = await openOddAccount({})
  const { dav, contacts, index } = opened
  await index.follow(contacts)
  expect(dav.open).toBeGreaterThan(0)

  await waitUntil('the end of all connections', async () => dav.open === 0)

  await index.follow(contacts)
  expect(dav.authorizations.filter(given => given === '')).toHaveLength(1)
})

test('reads a photo by its address with a login from the own server only', async () => {
  await using opened = await openOddAccount({})
  await using other = await startOddDav()
  const { dav, contacts, index } = opened
  const photo = (url: string) => cardOf('photo', `PHOTO;VALUE=URI:${url}\r\n`)
  dav.put('own.vcf', photo(`${dav.url}picture.png`))
  dav.put('other.vcf', photo(`${other.url}picture.png`))
  dav.put('inside.vcf', photo('https://10.0.0.1/picture.png'))
  dav.oddities.answers = (request, response) => {
    if (request.url !== '/picture.png') return false
    response.writeHead(200, { 'content-type': 'image/png' }).end('a picture')
    return true
  }
  await index.follow(contacts)
  const read = (name: string) => contacts.readPhoto(`${index.folder.key}/${name}.vcf`, never)

  const own = await read('own')
  expect(own?.contentType).toBe('image/png')
  expect(Buffer.concat(await Array.fromAsync(own!.open())).toString()).toBe('a picture')
  // Without TLS, only the own server is asked.
  expect(await read('other')).toBeNull()
  await expect(read('inside')).rejects.toMatchObject({ kind: 'not_allowed' })
  expect(other.authorizations).toEqual([])
})
