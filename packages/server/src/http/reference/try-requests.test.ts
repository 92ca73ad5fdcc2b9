import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ReferencePages,
  formOf,
  hasFocus,
  openReferencePages,
  presentKey,
} from '../../../test/reference-page.ts'
import { sampleAccount } from '../../../test/sample-rows.ts'
import { requireProgram } from '../../../test/servers/install.ts'
import { SOAK } from '../../../test/soak.ts'

const run = promisify(execFile)
const HOSTILE = '<img src=x onerror="globalThis.isHacked = true"><script>globalThis.isHacked = true</script>'
/** Python code that records what `requests` is called with, and the same for `fetch`. */
const FAKE_REQUESTS = `
import json, sys
class Response:
    status_code = 200
    def json(self): return "answered"
def call(method):
    def answer(url, headers={}, json=None, data=None):
        print(dump({"method": method, "url": url, "headers": headers, "json": json, "data": data and data.decode()}))
        return Response()
    return answer
dump = json.dumps
for name in ("get", "post", "patch", "delete"): globals()[name] = call(name.upper())
`
const FAKE_FETCH = `
globalThis.fetch = async (url, { method = 'GET', headers = {}, body } = {}) => {
  console.log(JSON.stringify({ method, url, headers, body }))
  return { status: 200, json: async () => 'answered' }
}
`

let pages: ReferencePages
let accountId: string
beforeAll(async () => {
  pages = await openReferencePages()
  const { db, tenantId } = pages.app
  const account = await sampleAccount(db, tenantId, { email: 'ada@example.com', display_name: HOSTILE })
  accountId = account.id
})
afterAll(() => pages?.[Symbol.asyncDispose]())

async function snippetOf(form: Locator, language: string) {
  await form.getByRole('button', { name: language, exact: true }).click()
  return (await form.locator('.snippet').textContent()) ?? ''
}

describe('a request that is sent from the page', () => {
  test('has a key that no URL contains, and its response is shown as text', async () => {
    await using opened = await pages.open('/docs/reference/accounts#accounts.list')
    const { page, requested, violations } = opened
    await presentKey(page, pages.app.key)
    const form = formOf(page, 'accounts.list')
    await form.getByLabel('limit').fill('10')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText('200 OK').waitFor()

    const response = form.locator('.response')
    expect(await response.textContent()).toContain('X-Request-Id')
    const text = await response.getByRole('region', { name: 'Body of the response' }).textContent()
    expect(JSON.parse(text ?? '')).toMatchObject({
      items: [{ email: 'ada@example.com', displayName: HOSTILE }],
    })
    expect(requested).toContain(`GET ${pages.app.address}/v1/accounts?limit=10`)
    expect(requested.join()).not.toContain(pages.app.key)
    expect(await page.evaluate(() => ({ isHacked: 'isHacked' in globalThis }))).toEqual({ isHacked: false })
    expect(await page.locator('img').count()).toBe(0)
    expect(violations).toEqual([])

    const [saved] = await Promise.all([page.waitForEvent('download'), response.getByText('Save').click()])
    expect(saved.suggestedFilename()).toBe('response.json')
  })

  test('shows an error with its reason', async () => {
    await using opened = await pages.open('/docs/reference/accounts#accounts.get')
    const form = formOf(opened.page, 'accounts.get')
    await form.getByLabel('accountId').fill('0')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByRole('status').getByText('401 Unauthorized').waitFor()
    expect(await form.locator('.response pre').textContent()).toContain('"unauthenticated"')
  })

  test('forgets the key with the page, unless it is kept in the tab', SOAK, async () => {
    await using opened = await pages.open('/docs/reference/accounts')
    const { page } = opened
    const state = page.locator('#key-state')
    await presentKey(page, 'wk_mine')
    expect(await state.textContent()).toBe('set')
    expect(
      await page.evaluate('JSON.stringify([sessionStorage, localStorage, location.href])'),
    ).not.toContain('wk_mine')
    await page.reload()
    expect(await state.textContent()).toBe('not set')

    await page.getByRole('button', { name: 'API key' }).click()
    await page.getByLabel('API key', { exact: true }).fill('wk_mine')
    await page.getByLabel('Keep it in this tab').check()
    await page.reload()
    expect(await state.textContent()).toBe('set')
    const other = await page.context().newPage()
    await other.goto(`${pages.app.address}/docs/reference/accounts`)
    expect(await other.locator('#key-state').textContent()).toBe('not set')
    await page.getByRole('button', { name: 'API key' }).click()
    await page.getByRole('button', { name: 'Forget' }).click()
    await page.reload()
    expect(await state.textContent()).toBe('not set')
  })
})

describe('a request that deletes', () => {
  async function openDelete(page: Page, id: string) {
    await presentKey(page, pages.app.key)
    const form = formOf(page, 'accounts.delete')
    await form.getByLabel('accountId').fill(id)
    await form.getByLabel('purge').selectOption('true')
    return { form, button: form.getByRole('button', { name: 'Send' }), dialog: page.getByRole('dialog') }
  }

  test('asks for confirmation, names what will be deleted, and is sent only after it, by keyboard alone', async () => {
    const { db, tenantId } = pages.app
    const { id } = await sampleAccount(db, tenantId, { email: 'gone@example.com' })
    await using opened = await pages.open('/docs/reference/accounts#accounts.delete')
    const { page, requested, violations } = opened
    const { form, button, dialog } = await openDelete(page, accountId)
    await button.focus()
    await page.keyboard.press('Enter')

    await dialog.getByText('ada@example.com').waitFor()
    const text = await dialog.textContent()
    expect(text).toContain('Delete an account?')
    expect(text).toContain(`DELETE /v1/accounts/${accountId}?purge=true`)
    expect(await hasFocus(page, dialog.getByRole('button', { name: 'Cancel' }))).toBe(true)
    await page.keyboard.press('Escape')
    await form.getByText('Not sent.').waitFor()
    expect(await hasFocus(page, button)).toBe(true)
    expect(requested.filter(request => request.startsWith('DELETE'))).toEqual([])
    expect((await pages.app.get(`/v1/accounts/${accountId}`)).status).toBe(200)

    await form.getByLabel('accountId').fill(id)
    await button.focus()
    await page.keyboard.press('Enter')
    await dialog.getByText('gone@example.com').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')

    await form.getByText('200 OK').waitFor()
    expect(requested.filter(request => request.startsWith('DELETE'))).toEqual([
      `DELETE ${pages.app.address}/v1/accounts/${id}?purge=true`,
    ])
    expect((await pages.app.get(`/v1/accounts/${id}`)).status).toBe(404)
    expect(violations).toEqual([])
  })
})

describe('a request as code', () => {
  const BODY = `{"it's": "$HOME \`id\` \\\\ \\/ !", "list": [true, null, 1.50, "é\\ud83d\\ude00"]}`

  async function openTokens(page: Page) {
    const form = formOf(page, 'accounts.createToken')
    await form.getByLabel('accountId').fill('a/b c')
    await form.getByLabel('Body', { exact: true }).fill(BODY)
    await form.getByRole('button', { name: 'New key' }).click()
    const idempotencyKey = await form.getByLabel('Idempotency-Key').inputValue()
    expect(idempotencyKey).toMatch(/^[!-~]{16,255}$/)
    return { form, idempotencyKey, url: `${pages.app.address}/v1/accounts/a%2Fb%20c/tokens` }
  }

  test('is a shell command and a program for Node.js and Python that send the same, whatever the body', async () => {
    await using opened = await pages.open('/docs/reference/accounts#accounts.createToken')
    const { form, idempotencyKey, url } = await openTokens(opened.page)
    const line = await snippetOf(form, 'curl')
    const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }; ${line}`
    const { stdout } = await run('sh', ['-c', script], { env: { WAXWING_KEY: 'wk_1' } })
    expect(stdout.split('\0')).toEqual([
      '-i',
      url,
      '-H',
      'Authorization: Bearer wk_1',
      '-H',
      `Idempotency-Key: ${idempotencyKey}`,
      '-H',
      'Content-Type: application/json',
      '--data-raw',
      BODY,
      '',
    ])
    const folder = await mkdtemp(join(tmpdir(), 'waxwing-snippets-'))
    try {
      await writeFile(join(folder, 'request.mjs'), FAKE_FETCH + (await snippetOf(form, 'Node')))
      await writeFile(join(folder, 'requests.py'), FAKE_REQUESTS)
      await writeFile(join(folder, 'request.py'), await snippetOf(form, 'Python'))
      const env = { ...process.env, WAXWING_KEY: 'wk_1' }
      const node = await run(process.execPath, ['request.mjs'], { cwd: folder, env })
      const python = await run(requireProgram('python3'), ['request.py'], { cwd: folder, env })
      const fromNode = JSON.parse(node.stdout.split('\n')[0] ?? '')
      const fromPython = JSON.parse(python.stdout.split('\n')[0] ?? '')

      const common = { Authorization: 'Bearer wk_1', 'Idempotency-Key': idempotencyKey }
      expect(fromNode).toMatchObject({
        method: 'POST',
        url,
        headers: { ...common, 'Content-Type': 'application/json' },
      })
      expect(JSON.parse(fromNode.body)).toEqual(JSON.parse(BODY))
      expect(fromPython).toEqual({ method: 'POST', url, headers: common, json: JSON.parse(BODY), data: null })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('never contains the key, saves what is a file, and stays in the chosen language', SOAK, async () => {
    await using opened = await pages.open('/docs/reference/accounts#accounts.list')
    const { page } = opened
    await presentKey(page, pages.app.key)
    const form = formOf(page, 'accounts.list')
    await page.goto(`${pages.app.address}/docs/reference/messages#messages.raw`)
    expect(await formOf(page, 'messages.raw').locator('.snippet').textContent()).toMatch(/^curl -OJ '/)
    await page.goto(`${pages.app.address}/docs/reference/accounts#accounts.list`)
    for (const language of ['curl', 'Node', 'Python']) {
      const text = await snippetOf(form, language)
      expect(text).toContain('WAXWING_KEY')
      expect(text).not.toContain(pages.app.key)
    }
    await page.goto(`${pages.app.address}/docs/reference/accounts#accounts.get`)
    await formOf(page, 'accounts.get').getByRole('button', { name: 'Python', pressed: true }).waitFor()
  })
})
