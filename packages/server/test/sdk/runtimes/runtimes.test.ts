import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchChromium } from '../../chromium.ts'
import { findFreePort } from '../../metrics.ts'
import { bringForeign, type ForeignProgram } from '../../servers/foreign.ts'
import { numberFor, SOAK } from '../../soak.ts'
import { waitForFirstSync } from '../../sync/followed-account.ts'
import { openSdkWorld, type SdkWorld } from '../walks/world.ts'
import { changeWebhooks } from './changed-webhooks.ts'
import { installPackedClient, type PackedClient } from './packed.ts'
import { bundle, startWorkerd } from './workerd.ts'

const run = promisify(execFile)
const opened = new AsyncDisposableStack()
const webhooks = changeWebhooks(numberFor({ ci: 500, soak: 10_000 }))
let world: SdkWorld
let packed: PackedClient
let page: Awaited<ReturnType<typeof servePage>>
beforeAll(async () => {
  page = opened.use(await servePage())
  world = opened.use(await openSdkWorld({ corsOrigins: [page.origin] }))
  packed = opened.use(await installPackedClient())
})
afterAll(() => opened.disposeAsync())

/** The outcome of the program, on each runtime. */
const OUTCOME = {
  hasInbox: true,
  sent: 'sent',
  listed: true,
  source: 'Subject: From a runtime',
  hasEtag: true,
  changed: '2',
  refused: 409,
  missing: true,
  unreachable: 'no_connection not_applied',
  late: 'timeout',
  aborted: 'left',
  showsKey: false,
  streamed: ['Streamed'],
  misjudged: [],
}

/** The input of a program: an account of its own, and the address that its message goes to. */
async function arrange(key = world.app.key) {
  const { accountId } = await world.account()
  await world.waxwing.accounts.updateImapSettings({ accountId, appendSent: true })
  await waitForFirstSync(world.app, accountId)
  const { email: to } = await world.dovecot.addUser()
  const closedUrl = `http://127.0.0.1:${await findFreePort()}`
  return { baseUrl: world.app.address, closedUrl, key, accountId, to, hasFeed: true, webhooks }
}

async function runOnFile(command: string, ...args: string[]): Promise<unknown> {
  const input = path.join(packed.folder, 'input.json')
  await writeFile(input, JSON.stringify(await arrange()))
  const { stdout } = await run(command, [...args, 'from-file.mjs', input], {
    cwd: packed.folder,
    maxBuffer: 1 << 26,
  })
  return JSON.parse(stdout)
}

const onFile = { ...OUTCOME, attached: 'from-file.mjs' }

test('the packed client works on the Node.js of the service', async () => {
  expect(await runOnFile(process.execPath)).toEqual(onFile)
})

test('the packed client works in a browser, with an account token, from an origin that is allowed', async () => {
  const { accountId, ...input } = await arrange()
  const { token } = await world.waxwing.accounts.createToken({ accountId })
  page.script = await bundle(packed.folder, 'program.mjs')
  await using browser = await launchChromium()
  const tab = await browser.newPage()
  await tab.goto(page.origin)
  const given = { ...input, accountId, key: token, hasFeed: false }
  const outcome = await tab.evaluate(`tryClient(${JSON.stringify(given)})`)
  // A browser does not say whether a connection was made.
  expect(outcome).toEqual({ ...OUTCOME, unreachable: 'no_connection unknown' })
})

const ON_FILE: [name: string, program: ForeignProgram, ...args: string[]][] = [
  ['Node.js 20', 'node20'],
  ['Node.js 22', 'node22'],
  ['Node.js 26', 'node26'],
  ['Deno', 'deno', 'run', '--allow-all', '--node-modules-dir=manual'],
  ['Bun', 'bun'],
]
test.each(ON_FILE)('the packed client works on %s', SOAK, async (_, program, ...args) => {
  const programs = await bringForeign()
  expect(await runOnFile(programs[program], ...args)).toEqual(onFile)
})

test('the packed client works in workerd', SOAK, async () => {
  const { workerd } = await bringForeign()
  await using worker = await startWorkerd(workerd, packed.folder)
  const answer = await fetch(worker.url, { method: 'POST', body: JSON.stringify(await arrange()) })
  const text = await answer.text()
  expect({ status: answer.status, text }).toMatchObject({ status: 200 })
  // workerd does not say it, either.
  expect(JSON.parse(text)).toEqual({ ...OUTCOME, unreachable: 'no_connection unknown' })
})

const PAGE = `<!doctype html><title>Page</title>
<script type="module">import { tryClient } from '/program.js'; self.tryClient = tryClient</script>`

/** A page with a script, at an origin of its own. */
async function servePage() {
  const served = { script: '', origin: '' }
  const server = createServer(({ url }, response) => {
    if (url === '/program.js')
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(served.script)
    else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(served, {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
