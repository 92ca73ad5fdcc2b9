import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import Handlebars from 'handlebars'
import { TEMPLATE } from './render-template.ts'

/* The yardstick of `renders`: an HTTP server that has a thread render one template, and does nothing else. */

interface Asked {
  id: number
  params: unknown
}

type Rendered = Record<keyof typeof TEMPLATE, string>

if (isMainThread) serve()
else renderInThread()

function serve(): void {
  const worker = new Worker(new URL(import.meta.url))
  const waiting = new Map<number, (rendered: Rendered) => void>()
  worker.on('message', ({ id, rendered }: { id: number; rendered: Rendered }) => {
    waiting.get(id)?.(rendered)
    waiting.delete(id)
  })
  let lastId = 0
  const render = (params: unknown) =>
    new Promise<Rendered>(resolve => {
      const id = ++lastId
      waiting.set(id, resolve)
      worker.postMessage({ id, params } satisfies Asked, [])
    })
  const server = createServer((request, response) => {
    void readJson(request).then(async body => {
      const answer = Buffer.from(JSON.stringify(await render(body.params)))
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
      response.end(answer)
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
}

async function readJson(request: IncomingMessage): Promise<{ params: unknown }> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as { params: unknown }
}

function renderInThread(): void {
  const compiled = Object.entries(TEMPLATE).map(
    ([field, source]) => [field, Handlebars.compile(source, { noEscape: field === 'subject' })] as const,
  )
  parentPort?.on('message', ({ id, params }: Asked) => {
    const rendered = Object.fromEntries(compiled.map(([field, render]) => [field, render({ params })]))
    parentPort?.postMessage({ id, rendered }, [])
  })
}
