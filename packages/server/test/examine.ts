import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { expect, vi } from 'vitest'
import { runWaxwing } from './service-process.ts'
import { type Config, readConfig } from '../src/config.ts'
import { registerDoctor } from '../src/cli/doctor.ts'
import type { Finding } from '../src/cli/doctor/finding.ts'

/** Settings of a command by their names. */
export type Environment = Record<string, string>

/** A master key, in base64. */
export const KEY = randomBytes(32).toString('base64')

export interface Examined {
  findings: Finding[]
  of(check: string): Finding[]
  stdout: string
}

/** The result of an examination as JSON, whose exit code must fit it. */
function read(stdout: string, code: number | null): Examined {
  const { healthy, findings }: { healthy: boolean; findings: Finding[] } = JSON.parse(stdout)
  const isWrong = findings.some(({ state }) => state === 'wrong')
  expect({ code, healthy }).toEqual({ code: isWrong ? 1 : 0, healthy: !isWrong })
  return { findings, of: check => findings.filter(finding => finding.check === check), stdout }
}

export function configOf(env: Environment): Config {
  const settings = { WAXWING_PORT: '0', WAXWING_METRICS_PORT: '0', ...env }
  return readConfig(settings, { isRoot: process.getuid?.() === 0, isTerminal: false })
}

/** Runs the command with these settings in this process: to start one takes longer than most examinations. */
export async function examine(env: Environment, ...args: string[]): Promise<Examined> {
  const complaints: string[] = []
  const complain = (text: unknown) => void complaints.push(String(text))
  const program = new Command().exitOverride().configureOutput({ writeErr: complain })
  registerDoctor(program, () => configOf(env))
  for (const command of program.commands) command.exitOverride()
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
  const warned = vi.spyOn(process.stderr, 'write').mockImplementation(text => (complain(text), true))
  const failed = vi.spyOn(console, 'error').mockImplementation(complain)
  process.exitCode = 0
  await program.parseAsync(['doctor', '--json', ...args], { from: 'user' })
  const stdout = printed.mock.calls.map(([line]) => String(line)).join('\n')
  for (const spy of [printed, warned, failed]) spy.mockRestore()
  expect(complaints).toEqual([])
  return read(stdout, Number(process.exitCode))
}

/** Runs the command in a process of its own. */
export async function examineAlone(env: Environment): Promise<Examined> {
  const { code, stdout, stderr } = await runWaxwing(['doctor', '--json'], { env })
  expect(stderr).toBe('')
  return read(stdout, code)
}
