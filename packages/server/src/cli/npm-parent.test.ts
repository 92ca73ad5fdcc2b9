import { describe, expect, test } from 'vitest'
import { findNpmParent } from './npm-parent.ts'

const START = 'node packages/server/bin/waxwing.js serve'
const SHELL = 40
const NPM = 30

/** Finds npm above a process, given the commands of the processes above it, its parent first. */
function find(commands: string[], script: string | undefined = START) {
  const pids = [SHELL, NPM, 20, 10]
  const shown = new Map(
    commands.map((command, at) => [pids[at] ?? 0, { parent: pids[at + 1] ?? 1, command }]),
  )
  return findNpmParent({ npm_lifecycle_script: script }, SHELL, pid => shown.get(pid) ?? null)
}

describe('findNpmParent', () => {
  test.each([
    ['npm start', `sh -c ${START}`, 'npm start', START],
    ['npx', `sh -c 'waxwing' serve`, 'npm exec waxwing serve', `'waxwing'`],
    [
      'npm before it has its title',
      `sh -c ${START}`,
      'node /usr/lib/node_modules/npm/bin/npm-cli.js start',
      START,
    ],
    ['bash as the shell', `/bin/bash -c ${START}`, 'npm start', START],
    [
      'a script that redirects',
      'sh -c cd x && waxwing serve 2>&1',
      'npm run up',
      'cd x && waxwing serve 2>&1',
    ],
  ])('finds %s through its shell', (_, shell, npm, script) => {
    expect(find([shell, npm], script)).toEqual({ npm: NPM, shell: SHELL })
  })

  test('finds npm without a shell in between', () => {
    expect(find(['npm start', 'bash'])).toEqual({ npm: SHELL, shell: null })
  })

  test.each([
    ['a supervisor, with a name of npm left in the environment', ['/usr/lib/systemd/systemd --user'], START],
    ['a shell of another script', ['sh -c waxwing serve', 'npm start'], START],
    ['the shell of a terminal below npm', ['bash', 'npm start'], START],
    ['a shell whose npm is gone', [`sh -c ${START}`, '/sbin/init'], START],
    ['a script in the background', [`sh -c ${START} &`, 'npm start'], `${START} &`],
    ['a script with nohup', [`sh -c nohup ${START}`, 'npm start'], `nohup ${START}`],
    ['a script in a session of its own', [`sh -c setsid ${START}`, 'npm start'], `setsid ${START}`],
    ['nothing that can be seen', [], START],
  ])('finds none below %s', (_, commands, script) => {
    expect(find(commands, script)).toBeNull()
  })

  test('finds none without the environment of npm', () => {
    expect(findNpmParent({}, SHELL, () => ({ parent: NPM, command: 'npm start' }))).toBeNull()
  })
})
