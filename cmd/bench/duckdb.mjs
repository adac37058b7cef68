// Runs each line of the input as a JSON string of SQL in DuckDB, and prints the rows or the error as a line of JSON.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const [directory, database] = process.argv.slice(1);
const { DuckDBInstance } = createRequire(directory + "/")("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(database)).connect();
for await (const line of createInterface({ input: process.stdin })) {
  try {
    const reader = await connection.runAndReadAll(JSON.parse(line));
    console.log(JSON.stringify({ rows: reader.getRowObjectsJson() }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
