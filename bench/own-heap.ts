import { setTimeout as sleep } from 'node:timers/promises'

/** Node.js opens its inspector here when it gets SIGUSR1. */
const INSPECTOR = 'http://127.0.0.1:9229/json/list'
const TRIES = 50
const WAIT_MS = 100

/** Bytes of V8's heap that a process of Node.js uses after a collection of garbage. */
export async function readUsedHeap(pid: number): Promise<number> {
  process.kill(pid, 'SIGUSR1')
  const socket = new WebSocket(await findTarget())
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  try {
    await ask(socket, 1, 'HeapProfiler.collectGarbage')
    await ask(socket, 2, 'HeapProfiler.collectGarbage')
    return (await ask(socket, 3, 'Runtime.getHeapUsage')).usedSize ?? 0
  } finally {
    socket.close()
  }
}

async function findTarget(): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      const [target] = (await (await fetch(INSPECTOR)).json()) as Array<{ webSocketDebuggerUrl: string }>
      if (target) return target.webSocketDebuggerUrl
    } catch (error) {
      if (tries === TRIES) throw error
    }
    await sleep(WAIT_MS)
  }
}

function ask(socket: WebSocket, id: number, method: string): Promise<{ usedSize?: number }> {
  return new Promise(resolve => {
    socket.addEventListener('message', function take({ data }) {
      const answer = JSON.parse(String(data)) as { id?: number; result?: { usedSize?: number } }
      if (answer.id !== id) return
      socket.removeEventListener('message', take)
      resolve(answer.result ?? {})
    })
    socket.send(JSON.stringify({ id, method }))
  })
}
