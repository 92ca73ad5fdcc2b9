import { inject } from 'vitest'
import { recordStatements } from './record.ts'

const folder = process.env['WAXWING_TEST_STATEMENTS']
if (folder) recordStatements(folder, inject('postgres').version)
