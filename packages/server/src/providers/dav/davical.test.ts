import { expect, test } from 'vitest'
import { davTestClient } from '../../../test/servers/dav-client.ts'
import { startDavical } from '../../../test/servers/davical.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { never } from '../conformance/arrangement.ts'
import { openContactIndex } from '../conformance/contact-index.ts'
import { NO_FIELDS } from '../contacts.ts'
import { cardDavAccount } from './carddav.ts'
import { openFileThread } from './file-thread.ts'
import { LoginSchemes } from './login.ts'

/*
 * DAViCal 1.1.12 does not pass the whole contract: it ends a component at an escaped semicolon as well, and answers a
 * token that it has never issued as if it were none.
 */

const davical = useServer(startDavical)

const cardOf = (name: string) =>
  [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `UID:${name}`,
    `FN:${name}`,
    `N:${name};;;;`,
    'X-KEPT:as it is',
    'END:VCARD',
    '',
  ].join('\r\n')

test('an address book of DAViCal is followed by its tokens, and written', async () => {
  await using files = openFileThread()
  const user = await davical().addUser()
  const client = davTestClient(davical(), user)
  const book = await client.makeBook('people')
  for (const name of ['Ada', 'Bob', 'Cid']) await client.put(`${book}${name}.vcf`, cardOf(name))
  await using account = await cardDavAccount({
    home: new URL(user.homePath, davical().url),
    login: { user: user.user, password: user.password },
    guard: egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) }),
    files,
    authorities: undefined,
    schemes: new LoginSchemes(),
    signal: never,
  })
  const { contacts } = account
  const folders = await contacts.listFolders(never)
  expect(folders).toMatchObject([{ name: 'people', isReadOnly: false }])
  const [folder] = folders
  const index = openContactIndex(folder!)
  await index.follow(contacts)
  expect(index.names().toSorted()).toEqual(['Ada', 'Bob', 'Cid'])

  await client.put(`${book}Dan.vcf`, cardOf('Dan'))
  await client.remove(`${book}Bob.vcf`)
  index.takeSteps()
  expect((await contacts.findChanged([{ folder: folder!, cursor: index.cursor }], never)).size).toBe(1)
  await index.follow(contacts)
  expect(index.names().toSorted()).toEqual(['Ada', 'Cid', 'Dan'])
  // Only what has changed was brought.
  expect(
    index
      .takeSteps()
      .map(({ type }) => type)
      .toSorted(),
  ).toEqual(['contacts', 'end', 'gone'])

  const creationId = '11111111-2222-4333-8444-555555555555'
  const fields = { ...NO_FIELDS, displayName: 'Eve', organization: 'Engines' }
  const made = { folderKey: folder!.key, fields, creationId }
  const created = await contacts.create({ ...made, mayExist: false })
  expect(await contacts.create({ ...made, mayExist: true })).toMatchObject({ key: created.key })
  const changed = await contacts.change(created.key, { notes: 'One\nTwo' })
  expect(changed.fields).toMatchObject({ displayName: 'Eve', organization: 'Engines', notes: 'One\nTwo' })
  const ada = [...index.contacts.keys()].find(key => key.endsWith('/Ada.vcf'))!
  await contacts.change(ada, { nickname: 'Countess' })
  expect(await client.get(`${book}Ada.vcf`)).toMatch(/^X-KEPT:as it is\r?$/m)
  await contacts.remove([...index.contacts.keys()].find(key => key.endsWith('/Cid.vcf'))!)
  await index.follow(contacts)
  expect(index.names().toSorted()).toEqual(['Ada', 'Dan', 'Eve'])
})
