import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

/** An echo server behind a proxy. */
async function openEcho() {
  await using opened = new AsyncDisposableStack()
  const heard: string[] = []
  const ended: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('data', bytes => {
      heard.push(bytes.toString())
      socket.write(bytes)
    })
    socket.on('error', error => void ended.push(error.message))
    socket.on('end', () => void ended.push('end'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.defer(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const proxy = opened.use(
    await startFaultProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port }),
  )
  const owned = opened.move()
  return { heard, ended, proxy, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function openClient(proxy: FaultProxy) {
  const socket = connect(proxy.port, proxy.host)
  const client = { socket, heard: '', closed: false }
  socket.on('data', bytes => void (client.heard += bytes.toString()))
  socket.on('error', () => {})
  socket.on('close', () => void (client.closed = true))
  await once(socket, 'connect')
  return client
}

let echo: Awaited<ReturnType<typeof openEcho>>
beforeEach(async () => {
  echo = await openEcho()
})
afterEach(() => echo[Symbol.asyncDispose]())

const hears = (client: { heard: string }, text: string) => waitUntil(text, async () => client.heard === text)

describe('a fault proxy', () => {
  test('passes bytes and the end of a connection', async () => {
    const client = await openClient(echo.proxy)
    client.socket.write('one')
    await hears(client, 'one')
    client.socket.end()
    await waitUntil('the end', async () => echo.ended.includes('end') && client.closed)
    await waitUntil('nothing to be open', async () => echo.proxy.openCount === 0)
  })

  test.each([
    { stalled: 'to_server', isHeard: false },
    { stalled: 'to_client', isHeard: true },
    { stalled: 'both', isHeard: false },
  ] as const)('holds what is stalled ($stalled) until the stall is over', async ({ stalled, isHeard }) => {
    const client = await openClient(echo.proxy)
    client.socket.write('one')
    await hears(client, 'one')
    echo.proxy.setFaults({ stalled })
    client.socket.write('two')
    // Another proxy's round trip is a moment in which the bytes would have passed.
    await using other = await openEcho()
    const witness = await openClient(other.proxy)
    witness.socket.write('witness')
    await hears(witness, 'witness')
    if (isHeard) await waitUntil('the server to hear', async () => echo.heard.includes('two'))
    else expect(echo.heard).toEqual(['one'])
    expect(client.heard).toBe('one')

    echo.proxy.setFaults({})
    await hears(client, 'onetwo')
  })

  test('passes no end on while it is stalled, but notes when the client closed', async () => {
    const closed: number[] = []
    await using noting = await startFaultProxy(
      { host: '127.0.0.1', port: echo.proxy.port },
      { onClientClosed: ({ number }) => void closed.push(number) },
    )
    const client = await openClient(noting)
    client.socket.write('one')
    await hears(client, 'one')
    noting.setFaults({ stalled: 'both' })
    client.socket.destroy()
    await waitUntil('the close', async () => closed.length === 1)
    expect(echo.ended).toEqual([])
    noting.setFaults({})
    await waitUntil('the server to hear of it', async () => echo.ended.length > 0)
  })

  test('cuts after a number of bytes from the server', async () => {
    echo.proxy.setFaults({ cutAfterBytes: 5 })
    const client = await openClient(echo.proxy)
    client.socket.write('123456789')
    await waitUntil('the cut', async () => client.closed)
    expect('12345'.startsWith(client.heard)).toBe(true)
  })

  test('is silent to clients that connect, also later, and refuses them if set to', async () => {
    echo.proxy.setFaults({ isSilent: true })
    const client = await openClient(echo.proxy)
    client.socket.write('one')
    echo.proxy.setFaults({})
    const second = await openClient(echo.proxy)
    second.socket.write('two')
    await hears(second, 'two')
    expect([client.heard, echo.heard]).toEqual(['', ['two']])

    echo.proxy.setFaults({ isRefusing: true })
    const third = connect(echo.proxy.port, echo.proxy.host)
    third.on('error', () => {})
    await waitUntil('the refusal', async () => third.closed)
  })

  test('delays by its latency, and cuts everything at once', async () => {
    echo.proxy.setFaults({ latencyMs: 150 })
    const client = await openClient(echo.proxy)
    const before = performance.now()
    client.socket.write('one')
    await hears(client, 'one')
    expect(performance.now() - before).toBeGreaterThan(280)
    echo.proxy.cutAll()
    await waitUntil('the cut', async () => client.closed && echo.proxy.openCount === 0)
  })
})
