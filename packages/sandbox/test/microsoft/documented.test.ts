import { expect, test } from 'vitest'
import { openValidation, type Validate } from './schemas.ts'
import { useGraph } from './use-graph.ts'

const validate: Validate = openValidation()
const graph = useGraph()

test("answers folders, messages and categories in Microsoft's own types", async () => {
  const eva = graph.addUser('eva@office.test', 60)
  const read = async (path: string) => {
    const { status, data } = await graph.ask(eva, 'GET', path)
    expect(status, path).toBe(200)
    return data
  }
  const folders = (await read('mailFolders?$top=100&includeHiddenFolders=true')).value
  expect(folders.length).toBeGreaterThan(12)
  for (const folder of folders) validate('folder', folder)
  const [found] = (await read('mailFolders/searchfolders/childFolders')).value
  validate('searchFolder', found)
  expect(found).toMatchObject({
    displayName: 'Unread Mail',
    '@odata.type': '#microsoft.graph.mailSearchFolder',
  })

  const made = await graph.ask(eva, 'POST', 'mailFolders', { displayName: 'New' })
  validate('folder', made.data)

  const messages = (await read('messages?$top=100')).value
  expect(messages).toHaveLength(63)
  for (const message of messages) {
    validate('message', message)
    validate('message', await read(`messages/${message.id}`))
  }
  const all = await read(
    'messages?$top=100&$select=id,uniqueBody,internetMessageHeaders,hasAttachments&$expand=attachments',
  )
  for (const { attachments, ...message } of all.value) {
    validate('message', message)
    for (const attachment of attachments)
      validate(
        attachment['@odata.type'] === '#microsoft.graph.fileAttachment' ? 'fileAttachment' : 'itemAttachment',
        attachment,
      )
  }
  expect(all.value.some(({ attachments }: { attachments: object[] }) => attachments.length > 0)).toBe(true)
  const { items } = await graph.deltaFrom(eva, 'mailFolders/inbox/messages/delta')
  expect(items.length).toBeGreaterThan(20)
  for (const item of items) validate('message', item)

  const categories = (await read('outlook/masterCategories')).value
  expect(categories).toHaveLength(3)
  for (const category of categories) validate('category', category)
})

test("checks names and values by Microsoft's own types", () => {
  expect(() => validate('folder', { displayName: 'Inbox', wellKnownName: 'inbox' })).toThrow(/additional/)
  expect(() => validate('message', { importance: 'High' })).toThrow(/importance/)
})
