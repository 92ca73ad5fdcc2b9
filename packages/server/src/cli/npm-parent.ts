import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Environment } from '../config.ts'

/** A process as the system shows it: its parent's id and its command line, or null if it has none. */
interface Shown {
  parent: number
  command: string | null
}

type Look = (pid: number) => Shown | null

/** The npm that waits for this process, and the shell between the two, if there is one. */
export interface NpmParent {
  npm: number
  shell: number | null
}

const LOOK_MILLISECONDS = 1000

/** npm and npx appear as "npm start" or "npm exec …"; others run a script with their name. */
const NPM = /^(?:\S*\bnode |\S*\/)?(?:\S*\/)?(?:npm|npx|pnpm|yarn)(?:-cli)?(?:\.c?js)?(?: |$)/
/** The shell with which npm runs a script. */
const SHELL = /^(?:\S*\/)?(?:sh|bash|dash|ash|zsh) -c /
/** A script that npm does not wait for: it runs in the background or in its own session. */
const DETACHED = /\b(?:nohup|setsid)\b|(?<![&<>])&(?![&>])/

/**
 * Finds the npm that started this process, for example by `npm start` or `npx waxwing serve`, and waits for it. Null
 * for a process that was started in any other way, or that was detached from npm on purpose: it continues without its
 * parent.
 */
export function findNpmParent(
  environment: Environment,
  parent: number,
  look: Look = lookAt,
): NpmParent | null {
  const script = environment['npm_lifecycle_script']
  if (script === undefined || DETACHED.test(script)) return null
  const starter = look(parent)
  if (!starter?.command) return null
  if (NPM.test(starter.command)) return { npm: parent, shell: null }
  const isShell = SHELL.test(starter.command) && starter.command.includes(` -c ${script}`)
  const above = isShell ? look(starter.parent) : null
  return above?.command && NPM.test(above.command) ? { npm: starter.parent, shell: parent } : null
}

/** Calls `onGone` once when npm or its shell has ended, because neither passes on every signal. */
export function watchNpmParent({ npm, shell }: NpmParent, onGone: () => void) {
  const timer = setInterval(() => {
    if (process.ppid === (shell ?? npm) && isAlive(npm)) return
    clearInterval(timer)
    onGone()
  }, LOOK_MILLISECONDS)
  timer.unref()
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it belongs to another user, and is alive.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  // A process that has ended but was not yet reaped by its parent still accepts signals, but has no command any more.
  return process.platform !== 'linux' || lookAt(pid)?.command !== null
}

function lookAt(pid: number): Shown | null {
  try {
    return process.platform === 'linux' ? readProc(pid) : askPs(pid)
  } catch {
    return null
  }
}

function readProc(pid: number): Shown {
  // proc(5): the name in brackets may contain anything; the state and the parent follow.
  const [, parent = ''] =
    /^\S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')) ?? []
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  return { parent: Number(parent), command: command === '' ? null : command }
}

function askPs(pid: number): Shown | null {
  const text = execFileSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], {
    encoding: 'utf8',
    timeout: 2000,
  })
  const [, parent, command = ''] = /^\s*(\d+) (.*)$/m.exec(text) ?? []
  return parent === undefined ? null : { parent: Number(parent), command: command === '' ? null : command }
}
