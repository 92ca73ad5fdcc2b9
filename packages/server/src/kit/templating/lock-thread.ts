import { registerHooks } from 'node:module'

/** Globals by which code in a thread could reach the system or the network, without a module. */
const GLOBALS = [
  'process',
  'require',
  'fetch',
  'WebSocket',
  'EventSource',
  'XMLHttpRequest',
  'navigator',
] as const

/**
 * Takes from this thread, once everything is loaded, what a template would need that had become code: modules, files,
 * the environment, the network.
 */
export function lockThread(): void {
  registerHooks({
    resolve() {
      throw new Error('This thread loads no more modules')
    },
  })
  for (const name of GLOBALS) Reflect.deleteProperty(globalThis, name)
}
