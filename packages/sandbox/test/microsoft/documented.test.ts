import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import type { Validate } from '../published-types.ts'
import type { Answers } from './answers.ts'
import { useGraph } from './use-graph.ts'
import { openGraphValidation } from './validation.ts'

const validate: Validate<Answers> = openGraphValidation()
const declarations = await readFile(
  createRequire(import.meta.url)
    .resolve('@microsoft/microsoft-graph-types/package.json')
    .replace('package.json', 'microsoft-graph.d.ts'),
  'utf8',
)

/** The properties that a type of Microsoft's has, with those of the types that it extends. */
function propertiesOf(type: string): string[] {
  const [, parent, body = ''] =
    new RegExp(String.raw`^export interface ${type}(?: extends (\w+))? \{(.*?)^\}`, 'ms').exec(
      declarations,
    ) ?? []
  const own = [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) => name)
  return [...(parent ? propertiesOf(parent) : []), ...own]
}
const graph = useGraph()

/** Invitations are messages of a type of their own. */
const typeOf = (message: object): 'message' | 'eventMessageRequest' =>
  '@odata.type' in message && message['@odata.type'] === '#microsoft.graph.eventMessageRequest'
    ? 'eventMessageRequest'
    : 'message'

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
    validate(typeOf(message), message)
    validate(typeOf(message), await read(`messages/${message.id}`))
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
  for (const item of items) validate(typeOf(item), item)
  expect(new Set(messages.map(typeOf))).toEqual(new Set(['message', 'eventMessageRequest']))

  const categories = (await read('outlook/masterCategories')).value
  expect(categories).toHaveLength(3)
  for (const category of categories) validate('category', category)
})

test("checks names and values by Microsoft's own types", () => {
  expect(() => validate('folder', { displayName: 'Inbox', wellKnownName: 'inbox' })).toThrow(/additional/)
  expect(() => validate('message', { importance: 'High' })).toThrow(/importance/)
})

test("accepts every property of Microsoft's types in $select", async () => {
  const eva = graph.addUser('eva@office.test', 3)
  for (const [type, path] of [
    ['Message', 'messages'],
    ['MailFolder', 'mailFolders'],
    ['Event', 'events'],
    ['Calendar', 'calendars'],
  ] as const) {
    const properties = propertiesOf(type)
    expect(properties.length).toBeGreaterThan(10)
    const refused = []
    for (const property of properties) {
      const { status } = await graph.ask(eva, 'GET', `${path}?$select=${property}`)
      if (status !== 200) refused.push(property)
    }
    expect(refused, type).toEqual([])
  }
})
