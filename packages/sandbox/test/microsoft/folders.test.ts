import { expect, test } from 'vitest'
import { addFolder } from '../../src/microsoft/mailbox/folders.ts'
import { wellKnownFolder } from '../../src/microsoft/mailbox/mailbox.ts'
import { useGraph } from './use-graph.ts'

const graph = useGraph()

const names = (folders: { displayName: string }[]) => folders.map(({ displayName }) => displayName)

test('lists the top level by pages of 10, and hidden folders on demand', async () => {
  const eva = graph.addUser('eva@office.test', 30)
  const first = await graph.ask(eva, 'GET', 'mailFolders')
  expect(names(first.data.value)).toEqual([
    'Archive',
    'Conversation History',
    'Deleted Items',
    'Drafts',
    'Inbox',
    'Junk Email',
    'Outbox',
    'Sent Items',
    'Travel',
    'Work',
  ])
  expect(first.data['@odata.nextLink']).toBeUndefined()
  const all = await graph.ask(eva, 'GET', 'mailFolders?includeHiddenFolders=true&$top=100&$count=true')
  expect(all.data['@odata.count']).toBe(14)
  expect(names(all.data.value)).toContain('Sync Issues')
  expect(names(all.data.value)).not.toContain('Finder')
  const two = await graph.ask(eva, 'GET', 'mailFolders?$top=2&$skip=1&$select=displayName')
  expect(two.data.value).toEqual([
    { id: expect.any(String), displayName: 'Conversation History' },
    { id: expect.any(String), displayName: 'Deleted Items' },
  ])
  expect(two.data['@odata.nextLink']).toContain('https://graph.microsoft.com/v1.0/me/mailFolders?')
  const next = await graph.ask(eva, 'GET', two.data['@odata.nextLink'])
  expect(names(next.data.value)).toEqual(['Drafts', 'Inbox'])
})

test('finds folders by id, by well-known name in any case, and by keys in parentheses', async () => {
  const eva = graph.addUser('eva@office.test')
  const byName = await graph.ask(eva, 'GET', 'mailFolders/InBox')
  expect(byName.data).toMatchObject({ displayName: 'Inbox', childFolderCount: 0, isHidden: false })
  expect(byName.data.wellKnownName).toBeUndefined()
  const { id } = byName.data
  expect((await graph.ask(eva, 'GET', `mailFolders('${id}')`)).data).toEqual(byName.data)
  expect((await graph.ask(eva, 'GET', `mailFolders/${id.toLowerCase()}`)).status).not.toBe(200)
  const root = await graph.ask(eva, 'GET', 'mailFolders/msgfolderroot')
  expect(root.data.id).toBe(byName.data.parentFolderId)
  expect((await graph.ask(eva, 'GET', 'mailFolders/nowhere')).data.error.code).toBe('ErrorInvalidIdMalformed')
  const other = id.replace(/AAA=$/, '_AA=')
  expect((await graph.ask(eva, 'GET', `mailFolders/${other}`)).data.error.code).toBe('ErrorItemNotFound')
})

test('creates, renames, moves and deletes folders, whose ids stay', async () => {
  const eva = graph.addUser('eva@office.test')
  const one = await graph.ask(eva, 'POST', 'mailFolders', { displayName: 'One' })
  expect(one.status).toBe(201)
  const again = await graph.ask(eva, 'POST', 'mailFolders', { displayName: 'one' })
  expect([again.status, again.data.error.code]).toEqual([409, 'ErrorFolderExists'])
  const two = await graph.ask(eva, 'POST', `mailFolders/${one.data.id}/childFolders`, { displayName: 'Two' })
  expect(two.data.parentFolderId).toBe(one.data.id)
  const renamed = await graph.ask(eva, 'PATCH', `mailFolders/${two.data.id}`, { displayName: 'Zwei' })
  expect(renamed.data).toMatchObject({ id: two.data.id, displayName: 'Zwei' })

  const below = await graph.ask(eva, 'POST', `mailFolders/${one.data.id}/move`, {
    destinationId: two.data.id,
  })
  expect(below.data.error.code).toBe('ErrorMoveCopyFailed')
  const moved = await graph.ask(eva, 'POST', `mailFolders/${two.data.id}/move`, { destinationId: 'archive' })
  expect(moved.data.id).toBe(two.data.id)
  const archive = await graph.ask(eva, 'GET', 'mailFolders/archive')
  expect(moved.data.parentFolderId).toBe(archive.data.id)

  expect((await graph.ask(eva, 'DELETE', `mailFolders/${two.data.id}`)).status).toBe(204)
  const deleted = await graph.ask(eva, 'GET', 'mailFolders/deleteditems/childFolders')
  expect(deleted.data.value[0]).toMatchObject({ id: two.data.id, displayName: 'Zwei' })
  expect((await graph.ask(eva, 'DELETE', `mailFolders/${two.data.id}`)).status).toBe(204)
  expect((await graph.ask(eva, 'GET', `mailFolders/${two.data.id}`)).status).toBe(404)
})

test('refuses to rename, move and delete the folders of Exchange', async () => {
  const eva = graph.addUser('eva@office.test')
  const refused = await Promise.all([
    graph.ask(eva, 'DELETE', 'mailFolders/inbox'),
    graph.ask(eva, 'POST', 'mailFolders/inbox/move', { destinationId: 'archive' }),
    graph.ask(eva, 'PATCH', 'mailFolders/inbox', { displayName: 'In' }),
  ])
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403])
  expect(refused[0]?.data.error.code).toBe('ErrorDeleteDistinguishedFolder')
  expect((await graph.ask(eva, 'POST', 'mailFolders', { displayName: ' ' })).status).toBe(400)
  expect((await graph.ask(eva, 'POST', 'mailFolders', 'no JSON')).status).toBe(400)
})

test('shows the hits of a search folder, which stands beside other folders', async () => {
  const eva = graph.addUser('eva@office.test', 100)
  const made = await graph.ask(eva, 'POST', 'mailFolders/inbox/childFolders', {
    '@odata.type': 'microsoft.graph.mailSearchFolder',
    displayName: 'Reports',
    includeNestedFolders: true,
    sourceFolderIds: ['msgfolderroot'],
    filterQuery: 'hasAttachments eq true',
  })
  expect(made.status).toBe(201)
  const hits = await graph.ask(
    eva,
    'GET',
    `mailFolders/${made.data.id}/messages?$top=100&$select=hasAttachments`,
  )
  const all = await graph.ask(eva, 'GET', 'messages?$top=200&$filter=hasAttachments eq true&$select=id')
  expect(hits.data.value.length).toBeGreaterThan(5)
  expect(hits.data.value).toHaveLength(all.data.value.length)
  expect(made.data.totalItemCount).toBe(all.data.value.length)
  const bad = await graph.ask(eva, 'POST', 'mailFolders/inbox/childFolders', {
    '@odata.type': '#microsoft.graph.mailSearchFolder',
    displayName: 'Other',
    sourceFolderIds: ['inbox'],
    filterQuery: 'nonsense eq 1',
  })
  expect(bad.status).toBe(400)
})

test('reports changed and deleted folders by the delta, and never counts', async () => {
  const eva = graph.addUser('eva@office.test', 20)
  const first = await graph.deltaFrom(eva, 'mailFolders/delta', { prefer: 'odata.maxpagesize=3' })
  expect(first.pages).toBeGreaterThan(3)
  expect(names(first.items)).toContain('2026')
  expect(names(first.items)).not.toContain('Sync Issues')
  const unread = await graph.ask(eva, 'GET', 'mailFolders/inbox/messages?$top=1&$filter=isRead eq false')
  expect(unread.data.value).toHaveLength(1)
  const work = first.items.find(({ displayName }) => displayName === 'Work')
  const travel = first.items.find(({ displayName }) => displayName === 'Travel')
  await graph.ask(eva, 'PATCH', `mailFolders/${work.id}`, { displayName: 'Office' })
  const made = await graph.ask(eva, 'POST', 'mailFolders', { displayName: 'New' })
  await graph.ask(eva, 'POST', `mailFolders/${travel.id}/permanentDelete`)
  const second = await graph.deltaFrom(eva, first.link)
  expect(second.items).toEqual([
    expect.objectContaining({ id: work.id, displayName: 'Office' }),
    expect.objectContaining({ id: made.data.id, displayName: 'New' }),
    { '@odata.type': '#microsoft.graph.mailFolder', '@removed': { reason: 'deleted' }, id: travel.id },
  ])
  expect((await graph.deltaFrom(eva, second.link)).items).toEqual([])
  graph.mail.receive(eva, { message: Buffer.from('Subject: New\r\n\r\nHello'), from: null })
  expect((await graph.deltaFrom(eva, second.link)).items).toEqual([])
})

test('lists 300 folders, and copies one with its messages', async () => {
  const eva = graph.addUser('eva@office.test', 50)
  const mailbox = graph.mailbox(eva)
  const root = wellKnownFolder(mailbox, 'msgfolderroot')
  for (let nth = 0; nth < 300; nth += 1) addFolder(mailbox, { displayName: `Folder ${nth}`, parent: root })
  const all = await graph.ask(eva, 'GET', 'mailFolders?$top=1000')
  expect(all.data.value).toHaveLength(310)
  const too = await graph.ask(eva, 'GET', 'mailFolders?$top=1001')
  expect(too.status).toBe(400)
  const walked = await graph.deltaFrom(eva, 'mailFolders/delta', { prefer: 'odata.maxpagesize=100' })
  expect(walked.items.length).toBeGreaterThan(310)

  const inbox = await graph.ask(eva, 'GET', 'mailFolders/inbox')
  const copy = await graph.ask(eva, 'POST', 'mailFolders/inbox/copy', { destinationId: 'archive' })
  expect(copy.data).toMatchObject({ displayName: 'Inbox', totalItemCount: inbox.data.totalItemCount })
})
