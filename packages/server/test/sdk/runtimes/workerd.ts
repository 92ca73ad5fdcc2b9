import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { findFreePort } from '../../metrics.ts'
import { waitUntil } from '../../wait-until.ts'

/** One module with what it imports, as bundlers of users make it. */
export async function bundle(folder: string, entry: string, minify = false): Promise<string> {
  await using build = await rolldown({ input: path.join(folder, entry), cwd: folder, logLevel: 'silent' })
  const { output } = await build.generate({ format: 'esm', minify })
  return output[0].code
}

const configOf = (port: number) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker.js", esModule = embed "bundled.js")],
      compatibilityDate = "2026-10-01")),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`

/** Starts the bundled `worker.mjs` of a folder in workerd. */
export async function startWorkerd(program: string, folder: string) {
  const port = await findFreePort()
  await writeFile(path.join(folder, 'bundled.js'), await bundle(folder, 'worker.mjs'))
  await writeFile(path.join(folder, 'config.capnp'), configOf(port))
  const child = spawn(program, ['serve', 'config.capnp'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  try {
    await waitUntil('workerd', () =>
      fetch(url, { method: 'POST', body: 'no JSON' }).then(
        async answer => (await answer.text()) !== '',
        () => null,
      ),
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { url, [Symbol.asyncDispose]: stop }
}
